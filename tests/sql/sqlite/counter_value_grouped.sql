-- counter_value(reaction_counters::given).of(1_i64).group_by(reaction_counters::emoji).load::<(String, i64)>(conn)

SELECT
    `reaction_counters`.`emoji`,
    CASE
        typeof(COALESCE(SUM(`given`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`given`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total
FROM `reaction_counters`
WHERE `article_id` = ?
GROUP BY `reaction_counters`.`emoji`
ORDER BY `reaction_counters`.`emoji`;
-- [1]

