-- counter_series(views).between(monday()..=sunday()).of_many([1_i64, 2]).load(conn)

SELECT /*vt+ PRIORITY=none */ `diesel_counters_number`, `day`, COALESCE(SUM(`views`), 0) DIV 1 AS diesel_counters_sum
FROM ((SELECT `article_id` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, 1 UNION ALL
SELECT ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key
WHERE `diesel_counters_number` <= ? AND `day` BETWEEN ? AND ?
GROUP BY `diesel_counters_number`, `day`;
-- [1, 2, 2, 2026-03-02, 2026-03-08]

