-- counter_value(views).of_many([2_i64, 7, 1]).load(conn)

SELECT `diesel_counters_number`, (SELECT CASE typeof(COALESCE(SUM(`views`), 0)) WHEN 'integer' THEN COALESCE(SUM(`views`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM `article_counters`
WHERE `article_id` = diesel_counters_key)
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, 1), (?, 2), (?, 3), (?, 4)) AS diesel_counters_listed) AS diesel_counters_wanted
WHERE `diesel_counters_number` <= ?;
-- [2, 7, 1, 1, 3]

