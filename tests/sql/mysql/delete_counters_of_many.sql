-- delete_counters(article_counters::table).of_many([1_i64, 2, 3]).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

SELECT DISTINCT `article_id`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` IN (?, ?, ?, ?)
ORDER BY `article_id`;
-- [1, 2, 3, 3]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`)
VALUES (?, ?, 0), (?, ?, 0)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, 1970-01-01, 2, 1970-01-01]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`)
VALUES (?, ?, 0)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [3, 1970-01-01]

SELECT DISTINCT `article_id`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE
    `article_id` IN (?, ?, ?, ?)
    AND (`day` <> ? OR `slot` <> 0 OR `views` <> 0 OR `likes` <> 0 OR `comments` <> 0)
ORDER BY `article_id`;
-- [1, 2, 3, 3, 1970-01-01]

DELETE FROM `article_counters`
WHERE `article_id` IN (?, ?, ?, ?);
-- [1, 2, 3, 3]

DELETE
/* a merge may have inserted rows */
FROM `article_counters`
WHERE `article_id` IN (?, ?, ?, ?);
-- [1, 2, 3, 3]

COMMIT;

