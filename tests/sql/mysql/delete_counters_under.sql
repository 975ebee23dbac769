-- delete_counters(version_counters::table).under(1).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `version_counters`
WHERE 1 = 0;

SELECT DISTINCT `crate_id`, `number`
FROM `version_counters`
WHERE `crate_id` = ?
ORDER BY `crate_id`, `number`;
-- [1]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT `crate_id` AS diesel_counters_key, `number` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `version_counters`
WHERE 1 = 0 UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `version_counters` FORCE INDEX (PRIMARY) ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1
GROUP BY `crate_id`, `number`;
-- [1, "1.0"]

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`)
VALUES (?, ?, ?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, "1.0", 1970-01-01, 0, 1, 1]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT `crate_id` AS diesel_counters_key, `number` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `version_counters`
WHERE 1 = 0 UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `version_counters` FORCE INDEX (PRIMARY) ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND (`day` <> ? OR `slot` > 0 OR `downloads` <> 0 OR `failures` <> 0)
GROUP BY `crate_id`, `number`;
-- [1, "1.0", 1970-01-01]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `version_counters`
WHERE (`crate_id`, `number`) IN ((?, ?), (?, ?));
-- [1, "1.0", 1, "1.0"]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `version_counters`
WHERE (`crate_id`, `number`) IN ((?, ?), (?, ?));
-- [1, "1.0", 1, "1.0"]

COMMIT;

