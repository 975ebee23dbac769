-- recount((views, likes), articles::table.select((articles::id, 0.into_sql::<BigInt>(), 0.into_sql::<BigInt>()))).dry_run(conn).map(drop::<Vec<Drift<i64, _>>>)

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_actual_0`, `diesel_counters_actual_1`) AS (SELECT `articles`.`id`, ?, ?
FROM `articles`)
SELECT `diesel_counters_entity`, COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_stored_1`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_1`), 0) DIV 1
FROM (SELECT `article_id` AS `diesel_counters_entity`, SUM(`views`) AS `diesel_counters_stored_0`, SUM(`likes`) AS `diesel_counters_stored_1`, 0 AS `diesel_counters_actual_0`, 0 AS `diesel_counters_actual_1`
FROM `article_counters`
GROUP BY `article_id` UNION ALL
SELECT CAST(`diesel_counters_entity` AS SIGNED), 0, 0, SUM(`diesel_counters_actual_0`), SUM(`diesel_counters_actual_1`)
FROM `diesel_counters_source`
GROUP BY `diesel_counters_entity`) AS diesel_counters_both
GROUP BY `diesel_counters_entity`
HAVING COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1 OR COALESCE(SUM(`diesel_counters_stored_1`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_1`), 0) DIV 1
ORDER BY `diesel_counters_entity`;
-- [0, 0]

