-- set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO `version_counters` AS diesel_counters_stored (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?), (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE
SET `downloads` = CASE typeof(diesel_counters_stored.`downloads` + excluded.`downloads`) WHEN 'integer' THEN diesel_counters_stored.`downloads` + excluded.`downloads` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "1.0", 1970-01-01, 0, 2, "1.0", 1970-01-01, 0]

SELECT quote(`crate_id`), quote(`number`)
FROM `version_counters`
WHERE (`crate_id`, `number`) IN (VALUES (?, ?), (?, ?)) AND `day` = ? AND `slot` = ?;
-- [1, "1.0", 2, "1.0", 1970-01-01, 0]

SELECT `diesel_counters_number`, CASE typeof(COALESCE(SUM(`downloads`), 0)) WHEN 'integer' THEN COALESCE(SUM(`downloads`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, ?, 1), (?, ?, ?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `version_counters` ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2
GROUP BY `diesel_counters_number`;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02]

INSERT INTO `version_counters` AS diesel_counters_stored (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?), (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE
SET `downloads` = CASE typeof(diesel_counters_stored.`downloads` + excluded.`downloads`) WHEN 'integer' THEN diesel_counters_stored.`downloads` + excluded.`downloads` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "1.0", 2026-03-02, 0, 2, "1.0", 2026-03-02, 0]

SELECT `diesel_counters_number`, `downloads`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, ?, 1), (?, ?, ?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `version_counters` ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT 0);
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02]

INSERT INTO `version_counters` AS diesel_counters_stored (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?), (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE
SET `downloads` = CASE typeof(diesel_counters_stored.`downloads` + excluded.`downloads`) WHEN 'integer' THEN diesel_counters_stored.`downloads` + excluded.`downloads` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "1.0", 2026-03-02, 3, 2, "1.0", 2026-03-02, 3]

SELECT `diesel_counters_number`, `downloads`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, ?, 1), (?, ?, ?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `version_counters` ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT 0);
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02]

COMMIT;

