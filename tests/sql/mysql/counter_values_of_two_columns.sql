-- counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn)

SELECT /*vt+ PRIORITY=none */ `diesel_counters_number`, (SELECT COALESCE(SUM(`given`), 0) DIV 1
FROM `reaction_counters`
WHERE `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1)
FROM ((SELECT `article_id` AS diesel_counters_key, `emoji` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1 UNION ALL
SELECT ?, ?, 2 UNION ALL
SELECT ?, ?, 3) AS diesel_counters_wanted
WHERE `diesel_counters_number` <= ?;
-- [1, "👍", 1, "🎉", 2, "👍", 3]

