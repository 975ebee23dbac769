-- delete_counters(version_counters::table).under(1).execute(conn)

BEGIN;

DELETE
FROM `version_counters`
WHERE 1 = 0;

SELECT DISTINCT `crate_id`, `number`
FROM `version_counters`
WHERE `crate_id` = ?
ORDER BY `crate_id`, `number`;
-- [1]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `version_counters` ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1
GROUP BY `crate_id`, `number`;
-- [1, "1.0"]

INSERT INTO `version_counters` AS diesel_counters_stored (`crate_id`, `number`, `day`, `slot`)
VALUES (?, ?, ?, 0)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE
SET `slot` = (excluded.`slot`);
-- [1, "1.0", 1970-01-01]

SELECT MIN(`diesel_counters_number`)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `version_counters` ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND (`day` <> ? OR `slot` > 0 OR `downloads` <> 0 OR `failures` <> 0)
GROUP BY `crate_id`, `number`;
-- [1, "1.0", 1970-01-01]

DELETE
FROM `version_counters`
WHERE (`crate_id`, `number`) IN (VALUES (?, ?));
-- [1, "1.0"]

DELETE
FROM `version_counters`
WHERE (`crate_id`, `number`) IN (VALUES (?, ?));
-- [1, "1.0"]

COMMIT;

