-- delete_counters(site_counters::table).of(()).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

SELECT DISTINCT 1
FROM `site_counters` FORCE INDEX (PRIMARY)
ORDER BY 1;

INSERT INTO `site_counters` (`day`, `slot`)
VALUES (?, ?)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1970-01-01, 0]

SELECT DISTINCT 1
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE (`day` <> ? OR `slot` <> ? OR `hits` <> 0 OR `errors` <> 0)
ORDER BY 1;
-- [1970-01-01, 0]

SELECT COUNT(*)
FROM (SELECT 1
FROM `site_counters` FORCE INDEX (PRIMARY) FOR UPDATE) AS diesel_counters_locked;

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `site_counters`;

SELECT COUNT(*)
FROM (SELECT 1
FROM `site_counters` FORCE INDEX (PRIMARY) FOR UPDATE) AS diesel_counters_locked;

COMMIT;

