-- counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn)

SELECT
    wanted.ordinality,
    (
        SELECT CASE
            typeof(COALESCE(SUM(`given`), 0))
            WHEN 'integer' THEN COALESCE(SUM(`given`), 0)
            ELSE abs(-9223372036854775807 - 1)
        END
        FROM `reaction_counters` AS counters
        WHERE counters.`article_id` = wanted.entity
            AND counters.`emoji` = wanted.entity_1
    )
FROM (
    SELECT column1 AS entity, column2 AS entity_1, CAST(column3 AS BIGINT) AS ordinality
    FROM (VALUES (?, ?, 1), (?, ?, 2), (?, ?, 3), (?, ?, 4)) AS listed
) AS wanted
WHERE wanted.ordinality <= ?;
-- [1, "👍", 1, "🎉", 2, "👍", 2, "👍", 3]

