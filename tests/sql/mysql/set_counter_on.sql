-- set_counter(views).of(1_i64).on(monday()).to(7).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 1970-01-01, 0]

SELECT COALESCE(SUM(`views`), 0) DIV 1
FROM `article_counters`
WHERE `article_id` = ? AND `day` BETWEEN ? AND ?;
-- [1, 2026-03-02, 2026-03-02]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 5]

COMMIT;

