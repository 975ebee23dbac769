-- counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn)

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
            AND `day` BETWEEN ? AND ?
    )
FROM (
    SELECT column1 AS entity, CAST(column2 AS BIGINT) AS ordinality
    FROM (VALUES (?, 1), (?, 2)) AS listed
) AS wanted
WHERE wanted.ordinality <= ?;
-- [2026-03-02, 2026-03-08, 2, 1, 2]

