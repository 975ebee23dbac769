-- comments::table.select(total(views).of(comments::article_id)).load::<i64>(conn)

SELECT (
    SELECT COALESCE(SUM(`views`), 0) DIV 1
    FROM `article_counters` AS `diesel_counters_counted`
    WHERE `diesel_counters_counted`.`article_id` = `comments`.`article_id`
)
FROM `comments`;

