-- delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn)

BEGIN;

DELETE
FROM `reaction_counters`
WHERE 1 = 0;

SELECT DISTINCT `article_id`, `emoji`
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ?
ORDER BY `article_id`, `emoji`;
-- [1, "👍"]

INSERT INTO `reaction_counters` AS diesel_counters_stored (`article_id`, `emoji`, `day`, `slot`)
VALUES (?, ?, ?, 0)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE
SET `slot` = (excluded.`slot`);
-- [1, "👍", 1970-01-01]

SELECT DISTINCT `article_id`, `emoji`
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?)) AND (`day` <> ? OR `slot` <> ? OR `given` <> 0)
ORDER BY `article_id`, `emoji`;
-- [1, "👍", 1970-01-01, 0]

SELECT COUNT(*)
FROM (SELECT 1
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?))) AS diesel_counters_locked;
-- [1, "👍"]

DELETE
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?));
-- [1, "👍"]

SELECT COUNT(*)
FROM (SELECT 1
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?))) AS diesel_counters_locked;
-- [1, "👍"]

COMMIT;

