-- counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn)

SELECT FIELD(`article_id`, ?, ?), `reaction_counters`.`emoji`, COALESCE(SUM(`given`), 0) DIV 1 AS total
FROM `reaction_counters`
WHERE `article_id` IN (?, ?)
GROUP BY `article_id`, `reaction_counters`.`emoji`
ORDER BY 1, `reaction_counters`.`emoji`;
-- [1, 2, 1, 2]

