-- articles::table.filter(total(views).gt(1)).order(total(views).desc()).select((articles::id, total(likes).between(monday()..=sunday()))).load::<(i64, i64)>(conn)

SELECT
    `articles`.`id`,
    (
        SELECT COALESCE(SUM(`likes`), 0) DIV 1
        FROM `article_counters` AS `diesel_counters_counted`
        WHERE `diesel_counters_counted`.`article_id` = `articles`.`id`
            AND `day` BETWEEN ? AND ?
    )
FROM `articles`
WHERE (
    (
        SELECT COALESCE(SUM(`views`), 0) DIV 1
        FROM `article_counters` AS `diesel_counters_counted`
        WHERE `diesel_counters_counted`.`article_id` = `articles`.`id`
    ) > ?
)
ORDER BY (
    SELECT COALESCE(SUM(`views`), 0) DIV 1
    FROM `article_counters` AS `diesel_counters_counted`
    WHERE `diesel_counters_counted`.`article_id` = `articles`.`id`
) DESC;
-- [2026-03-02, 2026-03-08, 1]

