-- delete_counters(article_counters::table).of(1_i64).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `article_counters`
WHERE 1 = 0;

SELECT MIN(`diesel_counters_number`)
FROM (SELECT `article_id` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `article_counters`
WHERE 1 = 0 UNION ALL
SELECT ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key
GROUP BY `article_id`;
-- [1]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`)
VALUES (?, ?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, 1970-01-01, 0, 1, 1]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT `article_id` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `article_counters`
WHERE 1 = 0 UNION ALL
SELECT ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND (`day` <> ? OR `slot` > 0 OR `views` <> 0 OR `likes` <> 0 OR `comments` <> 0)
GROUP BY `article_id`;
-- [1, 1970-01-01]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `article_counters`
WHERE `article_id` IN (?);
-- [1]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `article_counters`
WHERE `article_id` IN (?);
-- [1]

COMMIT;

