-- delete_counters(article_counters::table).of(1_i64).execute(conn)

BEGIN;

DELETE FROM `article_counters`
WHERE 1 = 0;

SELECT DISTINCT `article_id`
FROM `article_counters`
WHERE `article_id` = ?
ORDER BY `article_id`;
-- [1]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`)
VALUES (?, ?, 0)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `slot` = excluded.`slot`;
-- [1, 1970-01-01]

SELECT DISTINCT `article_id`
FROM `article_counters`
WHERE
    `article_id` IN (?)
    AND (`day` <> ? OR `slot` <> 0 OR `views` <> 0 OR `likes` <> 0 OR `comments` <> 0)
ORDER BY `article_id`;
-- [1, 1970-01-01]

DELETE FROM `article_counters`
WHERE `article_id` IN (?);
-- [1]

DELETE
/* a merge may have inserted rows */
FROM `article_counters`
WHERE `article_id` IN (?);
-- [1]

COMMIT;

