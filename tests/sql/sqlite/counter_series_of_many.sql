-- counter_series(views).between(monday()..=sunday()).of_many([1_i64, 2]).load(conn)

SELECT `diesel_counters_number`, `day`, CASE typeof(COALESCE(SUM(`views`), 0)) WHEN 'integer' THEN COALESCE(SUM(`views`), 0) ELSE abs(-9223372036854775807 - 1) END AS diesel_counters_sum
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, 1), (?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key
WHERE `diesel_counters_number` <= ? AND `day` BETWEEN ? AND ?
GROUP BY `diesel_counters_number`, `day`;
-- [1, 2, 2, 2026-03-02, 2026-03-08]

