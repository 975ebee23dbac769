-- delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

SELECT DISTINCT `article_id`, `emoji`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` = ? AND `emoji` = ?
ORDER BY `article_id`, `emoji`;
-- [1, "👍"]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`)
VALUES (?, ?, ?, 0)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, "👍", 1970-01-01]

SELECT DISTINCT `article_id`, `emoji`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE (`article_id`, `emoji`) IN ((?, ?), (?, ?)) AND (`day` <> ? OR `slot` <> 0 OR `given` <> 0)
ORDER BY `article_id`, `emoji`;
-- [1, "👍", 1, "👍", 1970-01-01]

DELETE FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN ((?, ?), (?, ?));
-- [1, "👍", 1, "👍"]

DELETE
/* a merge may have inserted rows */
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN ((?, ?), (?, ?));
-- [1, "👍", 1, "👍"]

COMMIT;

