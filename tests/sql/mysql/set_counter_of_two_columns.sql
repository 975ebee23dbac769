-- set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 1970-01-01, 0, 0]

SELECT `given`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` = ? AND `emoji` = ? AND `day` BETWEEN ? AND ?;
-- [1, "👍", 2026-03-02, 2026-03-02]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 2026-03-02, 1, 32, 1, -1]

COMMIT;

