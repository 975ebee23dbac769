-- articles::table.select(total(reaction_counters::given).of((articles::id, "👍"))).load::<i64>(conn)

SELECT (
    SELECT COALESCE(SUM(`given`), 0) DIV 1
    FROM `reaction_counters` AS `diesel_counters_counted`
    WHERE `diesel_counters_counted`.`article_id` = `articles`.`id`
        AND `diesel_counters_counted`.`emoji` = ?
)
FROM `articles`;
-- ["👍"]

