-- recount(weekly_counters::comments, comments_by_article()).of(&WeeklyArticle { id: 1 }).execute::<i64, _>(conn)

BEGIN;

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `comments` = CASE typeof(diesel_counters_stored.`comments` + excluded.`comments`) WHEN 'integer' THEN diesel_counters_stored.`comments` + excluded.`comments` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 1970-01-01, 0]

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_actual_0`) AS (SELECT `comments`.`article_id`, COUNT(*)
FROM `comments`
GROUP BY `comments`.`article_id`)
SELECT `diesel_counters_entity`, CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT `article_id` AS `diesel_counters_entity`, `comments` AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `article_counters`
WHERE `article_id` = ? UNION ALL
SELECT `diesel_counters_entity`, 0, `diesel_counters_actual_0`
FROM `diesel_counters_source`
WHERE `diesel_counters_entity` = ?) AS diesel_counters_both
GROUP BY `diesel_counters_entity`
HAVING CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END <> CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
ORDER BY `diesel_counters_entity`;
-- [1, 1]

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `comments` = CASE typeof(diesel_counters_stored.`comments` + excluded.`comments`) WHEN 'integer' THEN diesel_counters_stored.`comments` + excluded.`comments` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 2026-12-28, 0]

SELECT `diesel_counters_number`, `comments`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- [1, 2026-12-28]

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `comments` = CASE typeof(diesel_counters_stored.`comments` + excluded.`comments`) WHEN 'integer' THEN diesel_counters_stored.`comments` + excluded.`comments` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 2026-12-28, 2]

SELECT `diesel_counters_number`, `comments`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- [1, 2026-12-28]

COMMIT;

