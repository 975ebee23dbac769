-- delete_counters(article_counters::table).of(1_i64).execute(conn)

BEGIN;

DELETE
FROM `article_counters`
WHERE 1 = 0;

SELECT MIN(`diesel_counters_number`)
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key
GROUP BY `article_id`;
-- [1]

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`)
VALUES (?, ?, 0)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `slot` = (excluded.`slot`);
-- [1, 1970-01-01]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND (`day` <> ? OR `slot` > 0 OR `views` <> 0 OR `likes` <> 0 OR `comments` <> 0)
GROUP BY `article_id`;
-- [1, 1970-01-01]

DELETE
FROM `article_counters`
WHERE `article_id` IN (?);
-- [1]

DELETE
FROM `article_counters`
WHERE `article_id` IN (?);
-- [1]

COMMIT;

