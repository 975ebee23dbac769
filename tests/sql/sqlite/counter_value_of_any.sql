-- counter_value(views).of_any(articles::table.select(articles::id)).get_result::<i64>(conn)

SELECT CASE
    typeof(COALESCE(SUM(`views`), 0))
    WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
    ELSE abs(-9223372036854775807 - 1)
END AS total
FROM `article_counters`
WHERE `article_id` IN (SELECT `articles`.`id` FROM `articles`);

