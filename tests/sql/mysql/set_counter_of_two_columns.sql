-- set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 1970-01-01, 0]

SELECT COALESCE(SUM(`given`), 0) DIV 1
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ? AND `day` BETWEEN ? AND ?;
-- [1, "👍", 2026-03-02, 2026-03-02]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 2026-03-02, 5]

COMMIT;

