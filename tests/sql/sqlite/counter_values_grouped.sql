-- counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn)

SELECT `diesel_counters_number`, `reaction_counters`.`emoji`, CASE typeof(COALESCE(SUM(`given`), 0)) WHEN 'integer' THEN COALESCE(SUM(`given`), 0) ELSE abs(-9223372036854775807 - 1) END AS diesel_counters_sum
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, 1), (?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `reaction_counters` ON `article_id` = diesel_counters_key
WHERE `diesel_counters_number` <= ?
GROUP BY `diesel_counters_number`, `reaction_counters`.`emoji`
ORDER BY `diesel_counters_number`, `reaction_counters`.`emoji`;
-- [1, 2, 2]

