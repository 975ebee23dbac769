-- recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>)

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
FROM `crates`)
SELECT `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
FROM (SELECT `crate_id` AS `diesel_counters_entity`, `number` AS `diesel_counters_entity_1`, `day` AS `diesel_counters_day`, SUM(`downloads`) AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `version_counters`
WHERE `crate_id` = ?
GROUP BY `crate_id`, `number`, `day` UNION ALL
SELECT CAST(`diesel_counters_entity` AS SIGNED), `diesel_counters_entity_1`, CAST(`diesel_counters_day` AS DATE), 0, `diesel_counters_actual_0`
FROM `diesel_counters_source`) AS diesel_counters_both
WHERE `diesel_counters_entity` = ?
GROUP BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`
HAVING COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
ORDER BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`;
-- [1, 1]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 1970-01-01, 0, 0]

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
FROM `crates`)
SELECT `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`, COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
FROM (SELECT `crate_id` AS `diesel_counters_entity`, `number` AS `diesel_counters_entity_1`, `day` AS `diesel_counters_day`, SUM(`downloads`) AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `version_counters`
WHERE (`crate_id`, `number`) IN ((?, ?), (?, ?))
GROUP BY `crate_id`, `number`, `day` UNION ALL
SELECT CAST(`diesel_counters_entity` AS SIGNED), `diesel_counters_entity_1`, CAST(`diesel_counters_day` AS DATE), 0, `diesel_counters_actual_0`
FROM `diesel_counters_source`) AS diesel_counters_both
WHERE (`diesel_counters_entity`, `diesel_counters_entity_1`) IN ((?, ?), (?, ?))
GROUP BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`
HAVING COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
ORDER BY `diesel_counters_entity`, `diesel_counters_entity_1`, `diesel_counters_day`;
-- [1, "1.0", 1, "1.0", 1, "1.0", 1, "1.0"]

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 2026-03-02, 1, 32, 1, 0]

SELECT `diesel_counters_number`, `downloads`
FROM ((SELECT `crate_id` AS diesel_counters_key, `number` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `version_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `version_counters` FORCE INDEX (PRIMARY) ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, "1.0", 2026-03-02, 1, 32, 1]

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 2026-03-02, 1, 32, 1, -3]

SELECT `diesel_counters_number`, `downloads`
FROM ((SELECT `crate_id` AS diesel_counters_key, `number` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `version_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `version_counters` FORCE INDEX (PRIMARY) ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, "1.0", 2026-03-02, 1, 32, 1]

COMMIT;

