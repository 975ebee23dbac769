-- recount((views, likes), articles::table.select((articles::id, 0.into_sql::<BigInt>(), 0.into_sql::<BigInt>()))).dry_run(conn).map(drop::<Vec<Drift<i64, _>>>)

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_actual_0`, `diesel_counters_actual_1`) AS (SELECT `articles`.`id`, ?, ?
FROM `articles`)
SELECT `diesel_counters_entity`, CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_stored_1`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_1`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_actual_1`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_1`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT `article_id` AS `diesel_counters_entity`, `views` AS `diesel_counters_stored_0`, `likes` AS `diesel_counters_stored_1`, 0 AS `diesel_counters_actual_0`, 0 AS `diesel_counters_actual_1`
FROM `article_counters` UNION ALL
SELECT `diesel_counters_entity`, 0, 0, `diesel_counters_actual_0`, `diesel_counters_actual_1`
FROM `diesel_counters_source`) AS diesel_counters_both
GROUP BY `diesel_counters_entity`
HAVING CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END <> CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END OR CASE typeof(COALESCE(SUM(`diesel_counters_stored_1`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_1`), 0) ELSE abs(-9223372036854775807 - 1) END <> CASE typeof(COALESCE(SUM(`diesel_counters_actual_1`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_1`), 0) ELSE abs(-9223372036854775807 - 1) END
ORDER BY `diesel_counters_entity`;
-- [0, 0]

