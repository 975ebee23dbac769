-- counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn)

SELECT `diesel_counters_number`, (SELECT CASE typeof(COALESCE(SUM(`given`), 0)) WHEN 'integer' THEN COALESCE(SUM(`given`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM `reaction_counters`
WHERE `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1), (?, ?, 2), (?, ?, 3), (?, ?, 4)) AS diesel_counters_listed) AS diesel_counters_wanted
WHERE `diesel_counters_number` <= ?;
-- [1, "👍", 1, "🎉", 2, "👍", 2, "👍", 3]

