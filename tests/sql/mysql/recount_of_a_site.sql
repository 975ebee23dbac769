-- recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1970-01-01, 0, 0]

WITH `diesel_counters_source` (`diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT date('2026-03-02'), COUNT(*)
FROM `comments`)
SELECT `diesel_counters_day`, COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
FROM (SELECT `day` AS `diesel_counters_day`, SUM(`hits`) AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `site_counters`
GROUP BY `day` UNION ALL
SELECT CAST(`diesel_counters_day` AS DATE), 0, SUM(`diesel_counters_actual_0`)
FROM `diesel_counters_source`
GROUP BY `diesel_counters_day`) AS diesel_counters_both
GROUP BY `diesel_counters_day`
HAVING COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
ORDER BY `diesel_counters_day`;

COMMIT;

