-- articles::table.select(total(reaction_counters::given).of((articles::id, "👍"))).load::<i64>(conn)

SELECT (
    SELECT CASE
        typeof(COALESCE(SUM(`diesel_counters_count`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_count`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
    FROM (
        SELECT
            `article_id` AS `diesel_counters_key`,
            `emoji` AS `diesel_counters_key_1`,
            `day` AS `diesel_counters_day`,
            `given` AS `diesel_counters_count`
        FROM `reaction_counters`
    ) AS `diesel_counters_counted`
    WHERE
        `diesel_counters_counted`.`diesel_counters_key` = `articles`.`id`
        AND `diesel_counters_counted`.`diesel_counters_key_1` = ?
)
FROM `articles`;
-- ["👍"]

