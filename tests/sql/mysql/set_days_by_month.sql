-- set_counter(monthly_counters::views).of_days([(1_i64, monday(), 3)]).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 1970-01-01, 0, 0]

SELECT `diesel_counters_number`, COALESCE(SUM(`views`), 0) DIV 1
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` BETWEEN diesel_counters_key_1 AND diesel_counters_key_2
GROUP BY `diesel_counters_number`;
-- [1, 2026-03-01, 2026-03-31]

COMMIT;

