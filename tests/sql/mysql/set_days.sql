-- set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, ?, ?), (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 1970-01-01, 0, 0, 2, 1970-01-01, 0, 0]

SELECT `diesel_counters_number`, COALESCE(SUM(`views`), 0) DIV 1
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1 UNION ALL
SELECT ?, ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1
GROUP BY `diesel_counters_number`;
-- [1, 2026-03-02, 2, 2026-03-08]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, ?, ?), (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 0, 0, 2, 2026-03-08, 0, 0]

SELECT `diesel_counters_number`, `views`
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1 UNION ALL
SELECT ?, ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = ? FOR UPDATE;
-- [1, 2026-03-02, 2, 2026-03-08, 0]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, ?, ?), (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 0, -4, 2, 2026-03-08, 0, 4]

SELECT `diesel_counters_number`, `views`
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1 UNION ALL
SELECT ?, ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = ? FOR UPDATE;
-- [1, 2026-03-02, 2, 2026-03-08, 0]

COMMIT;

