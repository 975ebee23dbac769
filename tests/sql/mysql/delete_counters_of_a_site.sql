-- delete_counters(site_counters::table).of(()).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

SELECT DISTINCT 1
FROM `site_counters` FORCE INDEX (PRIMARY)
ORDER BY 1;

INSERT INTO `site_counters` (`day`, `slot`)
VALUES (?, 0)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1970-01-01]

SELECT DISTINCT 1
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE (`day` <> ? OR `slot` <> 0 OR `hits` <> 0 OR `errors` <> 0)
ORDER BY 1;
-- [1970-01-01]

DELETE FROM `site_counters`;

DELETE
/* a merge may have inserted rows */
FROM `site_counters`;

COMMIT;

