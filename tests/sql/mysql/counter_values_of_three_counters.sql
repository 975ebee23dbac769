-- counter_value((views, likes, article_counters::comments)).of_many([2_i64, 1]).load(conn)

SELECT /*vt+ PRIORITY=none */ `diesel_counters_number`, COALESCE(SUM(`views`), 0) DIV 1 AS diesel_counters_sum, COALESCE(SUM(`likes`), 0) DIV 1 AS diesel_counters_sum_1, COALESCE(SUM(`comments`), 0) DIV 1 AS diesel_counters_sum_2
FROM ((SELECT `article_id` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, 1 UNION ALL
SELECT ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key
WHERE `diesel_counters_number` <= ?
GROUP BY `diesel_counters_number`;
-- [2, 1, 2]

