-- counter_value((views, likes, article_counters::comments)).of_many([2_i64, 1]).load(conn)

SELECT `diesel_counters_number`, CASE typeof(COALESCE(SUM(`views`), 0)) WHEN 'integer' THEN COALESCE(SUM(`views`), 0) ELSE abs(-9223372036854775807 - 1) END AS diesel_counters_sum, CASE typeof(COALESCE(SUM(`likes`), 0)) WHEN 'integer' THEN COALESCE(SUM(`likes`), 0) ELSE abs(-9223372036854775807 - 1) END AS diesel_counters_sum_1, CASE typeof(COALESCE(SUM(`comments`), 0)) WHEN 'integer' THEN COALESCE(SUM(`comments`), 0) ELSE abs(-9223372036854775807 - 1) END AS diesel_counters_sum_2
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, 1), (?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key
WHERE `diesel_counters_number` <= ?
GROUP BY `diesel_counters_number`;
-- [2, 1, 2]

