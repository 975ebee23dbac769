-- delete_counters(site_counters::table).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `site_counters`
WHERE 1 = 0;

SELECT COUNT(DISTINCT 1)
FROM `site_counters` FORCE INDEX (PRIMARY);

INSERT INTO `site_counters` (`day`, `slot`)
VALUES (?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1970-01-01, 0, 1, 1]

SELECT COUNT(DISTINCT 1)
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE (`day` <> ? OR `slot` > 0 OR `hits` <> 0 OR `errors` <> 0);
-- [1970-01-01]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `site_counters`;

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */
FROM `site_counters`;

COMMIT;

