-- counter_value(views).of_any(articles::table.select(articles::id)).get_result::<i64>(conn)

SELECT *
FROM (
    SELECT COALESCE(SUM(`views`), 0) DIV 1 AS total
    FROM `article_counters`
    WHERE `article_id` IN (SELECT `articles`.`id` FROM `articles`)
) AS totals
UNION
SELECT 0
FROM DUAL
WHERE FALSE;

