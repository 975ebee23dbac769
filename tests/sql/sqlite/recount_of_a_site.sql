-- recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn)

BEGIN;

INSERT INTO `site_counters` AS diesel_counters_stored (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON CONFLICT (`day`, `slot`) DO UPDATE
SET `hits` = CASE typeof(diesel_counters_stored.`hits` + excluded.`hits`) WHEN 'integer' THEN diesel_counters_stored.`hits` + excluded.`hits` ELSE abs(-9223372036854775807 - 1) END;
-- [1970-01-01, 0]

WITH `diesel_counters_source` (`diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT date('2026-03-02'), COUNT(*)
FROM `comments`)
SELECT `diesel_counters_day`, CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT `day` AS `diesel_counters_day`, `hits` AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `site_counters` UNION ALL
SELECT `diesel_counters_day`, 0, `diesel_counters_actual_0`
FROM `diesel_counters_source`) AS diesel_counters_both
GROUP BY `diesel_counters_day`
HAVING CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END <> CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
ORDER BY `diesel_counters_day`;

COMMIT;

