-- delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `reaction_counters`
WHERE 1 = 0;

SELECT MIN(`diesel_counters_number`)
FROM (SELECT `article_id` AS diesel_counters_key, `emoji` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `reaction_counters`
WHERE 1 = 0 UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1
GROUP BY `article_id`, `emoji`;
-- [1, "👍"]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`)
VALUES (?, ?, ?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, "👍", 1970-01-01, 0, 1, 1]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT `article_id` AS diesel_counters_key, `emoji` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `reaction_counters`
WHERE 1 = 0 UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1 AND (`day` <> ? OR `slot` > 0 OR `given` <> 0)
GROUP BY `article_id`, `emoji`;
-- [1, "👍", 1970-01-01]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN ((?, ?), (?, ?));
-- [1, "👍", 1, "👍"]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `reaction_counters`
WHERE (`article_id`, `emoji`) IN ((?, ?), (?, ?));
-- [1, "👍", 1, "👍"]

COMMIT;

