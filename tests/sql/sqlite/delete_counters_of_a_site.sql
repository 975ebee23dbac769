-- delete_counters(site_counters::table).of(()).execute(conn)

BEGIN;

DELETE FROM `site_counters`
WHERE 1 = 0;

SELECT DISTINCT 1
FROM `site_counters`
ORDER BY 1;

INSERT INTO `site_counters` AS counters (`day`, `slot`)
VALUES (?, 0)
ON CONFLICT (`day`, `slot`) DO UPDATE SET
    `slot` = excluded.`slot`;
-- [1970-01-01]

SELECT DISTINCT 1
FROM `site_counters`
WHERE (`day` <> ? OR `slot` <> 0 OR `hits` <> 0 OR `errors` <> 0)
ORDER BY 1;
-- [1970-01-01]

DELETE FROM `site_counters`;

DELETE
/* a merge may have inserted rows */
FROM `site_counters`;

COMMIT;

