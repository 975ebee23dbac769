-- counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn)

SELECT
    wanted.ordinality,
    `reaction_counters`.`emoji`,
    CASE
        typeof(COALESCE(SUM(`given`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`given`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total
FROM (
    SELECT column1 AS entity, CAST(column2 AS BIGINT) AS ordinality
    FROM (VALUES (?, 1), (?, 2)) AS listed
) AS wanted
JOIN `reaction_counters` ON `reaction_counters`.`article_id` = wanted.entity
WHERE wanted.ordinality <= ?
GROUP BY wanted.ordinality, `reaction_counters`.`emoji`
ORDER BY wanted.ordinality, `reaction_counters`.`emoji`;
-- [1, 2, 2]

