-- comments::table.select(total(views).of(comments::article_id)).load::<i64>(conn)

SELECT (SELECT CASE typeof(COALESCE(SUM(`views`), 0)) WHEN 'integer' THEN COALESCE(SUM(`views`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM `article_counters` AS `diesel_counters_counted`
WHERE `diesel_counters_counted`.`article_id` = `comments`.`article_id`)
FROM `comments`;

