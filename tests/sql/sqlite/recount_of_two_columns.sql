-- recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>)

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
FROM `crates`)
SELECT `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT `crate_id` AS `diesel_counters_entity`, `number` AS `diesel_counters_entity_1`, `day` AS `diesel_counters_day`, `downloads` AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `version_counters`
WHERE `crate_id` = ? UNION ALL
SELECT `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, 0, `diesel_counters_actual_0`
FROM `diesel_counters_source`) AS diesel_counters_both
WHERE `diesel_counters_entity` = ?
GROUP BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`
HAVING CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END <> CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
ORDER BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`;
-- [1, 1]

BEGIN;

INSERT INTO `version_counters` AS diesel_counters_stored (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE
SET `downloads` = CASE typeof(diesel_counters_stored.`downloads` + excluded.`downloads`) WHEN 'integer' THEN diesel_counters_stored.`downloads` + excluded.`downloads` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "1.0", 1970-01-01, 0]

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
FROM `crates`)
SELECT `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END, CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT `crate_id` AS `diesel_counters_entity`, `number` AS `diesel_counters_entity_1`, `day` AS `diesel_counters_day`, `downloads` AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `version_counters`
WHERE (`crate_id`, `number`) IN (VALUES (?, ?)) UNION ALL
SELECT `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, 0, `diesel_counters_actual_0`
FROM `diesel_counters_source`) AS diesel_counters_both
WHERE (`diesel_counters_entity`, `diesel_counters_entity_1`) IN (VALUES (?, ?))
GROUP BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`
HAVING CASE typeof(COALESCE(SUM(`diesel_counters_stored_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_stored_0`), 0) ELSE abs(-9223372036854775807 - 1) END <> CASE typeof(COALESCE(SUM(`diesel_counters_actual_0`), 0)) WHEN 'integer' THEN COALESCE(SUM(`diesel_counters_actual_0`), 0) ELSE abs(-9223372036854775807 - 1) END
ORDER BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`;
-- [1, "1.0", 1, "1.0"]

INSERT INTO `version_counters` AS diesel_counters_stored (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE
SET `downloads` = CASE typeof(diesel_counters_stored.`downloads` + excluded.`downloads`) WHEN 'integer' THEN diesel_counters_stored.`downloads` + excluded.`downloads` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "1.0", 2026-03-02, 0]

SELECT `diesel_counters_number`, `downloads`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `version_counters` ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT 0);
-- [1, "1.0", 2026-03-02]

INSERT INTO `version_counters` AS diesel_counters_stored (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE
SET `downloads` = CASE typeof(diesel_counters_stored.`downloads` + excluded.`downloads`) WHEN 'integer' THEN diesel_counters_stored.`downloads` + excluded.`downloads` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "1.0", 2026-03-02, -3]

SELECT `diesel_counters_number`, `downloads`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `version_counters` ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT 0);
-- [1, "1.0", 2026-03-02]

COMMIT;

