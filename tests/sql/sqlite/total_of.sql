-- comments::table.select(total(views).of(comments::article_id)).load::<i64>(conn)

SELECT (
    SELECT CASE
        typeof(COALESCE(SUM(`diesel_counters_count`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_count`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
    FROM (
        SELECT
            `article_id` AS `diesel_counters_key`,
            `day` AS `diesel_counters_day`,
            `views` AS `diesel_counters_count`
        FROM `article_counters`
    ) AS `diesel_counters_counted`
    WHERE `diesel_counters_counted`.`diesel_counters_key` = `comments`.`article_id`
)
FROM `comments`;

