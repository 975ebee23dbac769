-- articles::table.select(total(reaction_counters::given).of((articles::id, "👍"))).load::<i64>(conn)

SELECT (SELECT CASE typeof(COALESCE(SUM(`given`), 0)) WHEN 'integer' THEN COALESCE(SUM(`given`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM `reaction_counters` AS `diesel_counters_counted`
WHERE `diesel_counters_counted`.`article_id` = `articles`.`id` AND `diesel_counters_counted`.`emoji` = ?)
FROM `articles`;
-- ["👍"]

