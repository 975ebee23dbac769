-- delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn)

BEGIN;

DELETE
FROM `reaction_counters`
WHERE 1 = 0;

SELECT MIN(`diesel_counters_number`)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `reaction_counters` ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1
GROUP BY `article_id`, `emoji`;
-- [1, "👍"]

INSERT INTO `reaction_counters` AS diesel_counters_stored (`article_id`, `emoji`, `day`, `slot`)
VALUES (?, ?, ?, 0)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE
SET `slot` = (excluded.`slot`);
-- [1, "👍", 1970-01-01]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `reaction_counters` ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1 AND (`day` <> ? OR `slot` > 0 OR `given` <> 0)
GROUP BY `article_id`, `emoji`;
-- [1, "👍", 1970-01-01]

DELETE
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?));
-- [1, "👍"]

DELETE
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?));
-- [1, "👍"]

COMMIT;

