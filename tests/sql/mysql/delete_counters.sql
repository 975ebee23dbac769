-- delete_counters(article_counters::table).of(1_i64).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

SELECT DISTINCT `article_id`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` = ?
ORDER BY `article_id`;
-- [1]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, 1970-01-01, 0]

SELECT DISTINCT `article_id`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` IN (?) AND (`day` <> ? OR `slot` <> ? OR `views` <> 0 OR `likes` <> 0 OR `comments` <> 0)
ORDER BY `article_id`;
-- [1, 1970-01-01, 0]

SELECT COUNT(*)
FROM (SELECT 1
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` IN (?) FOR UPDATE) AS diesel_counters_locked;
-- [1]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `article_counters`
WHERE `article_id` IN (?);
-- [1]

SELECT COUNT(*)
FROM (SELECT 1
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` IN (?) FOR UPDATE) AS diesel_counters_locked;
-- [1]

COMMIT;

