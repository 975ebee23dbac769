-- counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn)

SELECT 1, COALESCE(SUM(`given`), 0) DIV 1 AS total
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ?
UNION ALL
SELECT 2, COALESCE(SUM(`given`), 0) DIV 1 AS total
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ?
UNION ALL
SELECT 3, COALESCE(SUM(`given`), 0) DIV 1 AS total
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ?;
-- [1, "👍", 1, "🎉", 2, "👍"]

