-- counter_value((views, likes, article_counters::comments)).of_many([2_i64, 1]).load(conn)

SELECT
    wanted.ordinality,
    CASE
        typeof(COALESCE(SUM(`views`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total,
    CASE
        typeof(COALESCE(SUM(`likes`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`likes`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total_1,
    CASE
        typeof(COALESCE(SUM(`comments`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`comments`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total_2
FROM (
    SELECT column1 AS entity, CAST(column2 AS BIGINT) AS ordinality
    FROM (VALUES (?, 1), (?, 2)) AS listed
) AS wanted
JOIN `article_counters` ON `article_counters`.`article_id` = wanted.entity
WHERE wanted.ordinality <= ?
GROUP BY wanted.ordinality;
-- [2, 1, 2]

