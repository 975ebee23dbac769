-- counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn)

SELECT /*vt+ PRIORITY=none */ `diesel_counters_number`, `reaction_counters`.`emoji`, COALESCE(SUM(`given`), 0) DIV 1 AS diesel_counters_sum
FROM ((SELECT `article_id` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, 1 UNION ALL
SELECT ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key
WHERE `diesel_counters_number` <= ?
GROUP BY `diesel_counters_number`, `reaction_counters`.`emoji`
ORDER BY `diesel_counters_number`, `reaction_counters`.`emoji`;
-- [1, 2, 2]

