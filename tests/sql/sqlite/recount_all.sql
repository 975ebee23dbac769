-- recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn)

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_actual_0`) AS (SELECT `comments`.`article_id`, COUNT(*)
FROM `comments`
GROUP BY `comments`.`article_id`)
SELECT `diesel_counters_entity`, CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT `article_id` AS `diesel_counters_entity`, `comments` AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `article_counters` UNION ALL
SELECT `diesel_counters_entity`, 0, `diesel_counters_actual_0`
FROM `diesel_counters_source`) AS diesel_counters_both
GROUP BY `diesel_counters_entity`
HAVING CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END <> CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
ORDER BY `diesel_counters_entity`;

