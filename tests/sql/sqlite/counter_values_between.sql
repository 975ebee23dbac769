-- counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn)

SELECT `diesel_counters_number`, (SELECT CASE typeof(COALESCE(SUM(`views`), 0)) WHEN 'integer' THEN COALESCE(SUM(`views`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM `article_counters`
WHERE `article_id` = diesel_counters_key AND `day` BETWEEN ? AND ?)
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, 1), (?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
WHERE `diesel_counters_number` <= ?;
-- [2026-03-02, 2026-03-08, 2, 1, 2]

