-- articles::table.filter(total(views).gt(1)).order(total(views).desc()).select((articles::id, total(likes).between(monday()..=sunday()))).load::<(i64, i64)>(conn)

SELECT
    `articles`.`id`,
    (
        SELECT CASE
            typeof(COALESCE(SUM(`diesel_counters_count`), 0))
            WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_count`), 0)
            ELSE abs(-9223372036854775807 - 1)
        END
        FROM (
            SELECT
                `article_id` AS `diesel_counters_key`,
                `day` AS `diesel_counters_day`,
                `likes` AS `diesel_counters_count`
            FROM `article_counters`
        ) AS `diesel_counters_counted`
        WHERE
            `diesel_counters_counted`.`diesel_counters_key` = `articles`.`id`
            AND `diesel_counters_day` BETWEEN ? AND ?
    )
FROM `articles`
WHERE (
    (
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
        WHERE `diesel_counters_counted`.`diesel_counters_key` = `articles`.`id`
    ) > ?
)
ORDER BY (
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
    WHERE `diesel_counters_counted`.`diesel_counters_key` = `articles`.`id`
) DESC;
-- [2026-03-02, 2026-03-08, 1]

