-- delete_counters(version_counters::table).of(1).execute(conn)

BEGIN;

DELETE FROM `version_counters`
WHERE 1 = 0;

SELECT DISTINCT `crate_id`, `number`
FROM `version_counters`
WHERE `crate_id` = ?
ORDER BY `crate_id`, `number`;
-- [1]

INSERT INTO `version_counters` AS counters (`crate_id`, `number`, `day`, `slot`)
VALUES (?, ?, ?, 0)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE SET
    `slot` = excluded.`slot`;
-- [1, "1.0", 1970-01-01]

SELECT DISTINCT `crate_id`, `number`
FROM `version_counters`
WHERE
    (`crate_id`, `number`) IN (VALUES (?, ?))
    AND (`day` <> ? OR `slot` <> 0 OR `downloads` <> 0 OR `failures` <> 0)
ORDER BY `crate_id`, `number`;
-- [1, "1.0", 1970-01-01]

DELETE FROM `version_counters`
WHERE (`crate_id`, `number`) IN (VALUES (?, ?));
-- [1, "1.0"]

DELETE
/* a merge may have inserted rows */
FROM `version_counters`
WHERE (`crate_id`, `number`) IN (VALUES (?, ?));
-- [1, "1.0"]

SELECT DISTINCT `crate_id`, `number`
FROM `version_counters`
WHERE `crate_id` = ?
ORDER BY `crate_id`, `number`;
-- [1]

COMMIT;

