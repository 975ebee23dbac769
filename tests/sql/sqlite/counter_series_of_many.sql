-- counter_series(views).between(monday()..=sunday()).of_many([1_i64, 2]).load(conn)

SELECT
    wanted.ordinality,
    `day`,
    CASE
        typeof(COALESCE(SUM(`views`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total
FROM (
    SELECT column1 AS entity, CAST(column2 AS BIGINT) AS ordinality
    FROM (VALUES (?, 1), (?, 2)) AS listed
) AS wanted
JOIN `article_counters` ON `article_counters`.`article_id` = wanted.entity
WHERE wanted.ordinality <= ? AND `day` BETWEEN ? AND ?
GROUP BY wanted.ordinality, `day`;
-- [1, 2, 2, 2026-03-02, 2026-03-08]

