-- delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn)

BEGIN;

DELETE FROM `reaction_counters`
WHERE 1 = 0;

SELECT DISTINCT `article_id`, `emoji`
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ?
ORDER BY `article_id`, `emoji`;
-- [1, "👍"]

INSERT INTO `reaction_counters` AS counters (`article_id`, `emoji`, `day`, `slot`)
VALUES (?, ?, ?, 0)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE SET
    `slot` = excluded.`slot`;
-- [1, "👍", 1970-01-01]

SELECT DISTINCT `article_id`, `emoji`
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?)) AND (`day` <> ? OR `slot` <> 0 OR `given` <> 0)
ORDER BY `article_id`, `emoji`;
-- [1, "👍", 1970-01-01]

DELETE FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?));
-- [1, "👍"]

DELETE
/* a merge may have inserted rows */
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN (VALUES (?, ?));
-- [1, "👍"]

COMMIT;

