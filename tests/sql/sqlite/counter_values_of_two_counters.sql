-- counter_value((views, likes)).of_many([2_i64, 7, 1]).load(conn)

SELECT
    wanted.ordinality,
    (
        SELECT CASE
            typeof(COALESCE(SUM(`views`), 0))
            WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
            ELSE abs(-9223372036854775807 - 1)
        END
        FROM `article_counters` AS counters
        WHERE counters.`article_id` = wanted.entity
    ),
    (
        SELECT CASE
            typeof(COALESCE(SUM(`likes`), 0))
            WHEN 'integer' THEN COALESCE(SUM(`likes`), 0)
            ELSE abs(-9223372036854775807 - 1)
        END
        FROM `article_counters` AS counters
        WHERE counters.`article_id` = wanted.entity
    )
FROM (
    SELECT column1 AS entity, CAST(column2 AS BIGINT) AS ordinality
    FROM (VALUES (?, 1), (?, 2), (?, 3), (?, 4)) AS listed
) AS wanted
WHERE wanted.ordinality <= ?;
-- [2, 7, 1, 1, 3]

