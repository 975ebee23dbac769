-- recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn)

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_actual_0`) AS (SELECT `comments`.`article_id`, COUNT(*)
FROM `comments`
GROUP BY `comments`.`article_id`)
SELECT `diesel_counters_entity`, COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
FROM (SELECT `article_id` AS `diesel_counters_entity`, SUM(`comments`) AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `article_counters`
GROUP BY `article_id` UNION ALL
SELECT CAST(`diesel_counters_entity` AS SIGNED), 0, SUM(`diesel_counters_actual_0`)
FROM `diesel_counters_source`
GROUP BY `diesel_counters_entity`) AS diesel_counters_both
GROUP BY `diesel_counters_entity`
HAVING COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
ORDER BY `diesel_counters_entity`;

