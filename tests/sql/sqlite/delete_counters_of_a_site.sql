-- delete_counters(site_counters::table).of(()).execute(conn)

BEGIN;

DELETE
FROM `site_counters`
WHERE 1 = 0;

SELECT DISTINCT 1
FROM `site_counters`
ORDER BY 1;

INSERT INTO `site_counters` AS diesel_counters_stored (`day`, `slot`)
VALUES (?, 0)
ON CONFLICT (`day`, `slot`) DO UPDATE
SET `slot` = (excluded.`slot`);
-- [1970-01-01]

SELECT DISTINCT 1
FROM `site_counters`
WHERE (`day` <> ? OR `slot` <> ? OR `hits` <> 0 OR `errors` <> 0)
ORDER BY 1;
-- [1970-01-01, 0]

SELECT COUNT(*)
FROM (SELECT 1
FROM `site_counters`) AS diesel_counters_locked;

DELETE
FROM `site_counters`;

SELECT COUNT(*)
FROM (SELECT 1
FROM `site_counters`) AS diesel_counters_locked;

COMMIT;

