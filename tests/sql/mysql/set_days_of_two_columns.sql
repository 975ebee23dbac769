-- set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 1970-01-01, 0, 0, 2, "1.0", 1970-01-01, 0, 0]

SELECT HEX(`crate_id`), HEX(`number`)
FROM `version_counters`
WHERE (`crate_id`, `number`) IN ((?, ?), (?, ?)) AND `day` = ? AND `slot` = ?;
-- [1, "1.0", 2, "1.0", 1970-01-01, 0]

SELECT `diesel_counters_number`, COALESCE(SUM(`downloads`), 0) DIV 1
FROM ((SELECT `crate_id` AS diesel_counters_key, `number` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `version_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1 UNION ALL
SELECT ?, ?, ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `version_counters` FORCE INDEX (PRIMARY) ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2
GROUP BY `diesel_counters_number`;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02]

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 2026-03-02, 0, 0, 2, "1.0", 2026-03-02, 0, 0]

SELECT `diesel_counters_number`, `downloads`
FROM ((SELECT `crate_id` AS diesel_counters_key, `number` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `version_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1 UNION ALL
SELECT ?, ?, ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `version_counters` FORCE INDEX (PRIMARY) ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = ? FOR UPDATE;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02, 0]

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 2026-03-02, 0, 3, 2, "1.0", 2026-03-02, 0, 3]

SELECT `diesel_counters_number`, `downloads`
FROM ((SELECT `crate_id` AS diesel_counters_key, `number` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `version_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1 UNION ALL
SELECT ?, ?, ?, 2) AS diesel_counters_wanted
STRAIGHT_JOIN `version_counters` FORCE INDEX (PRIMARY) ON `crate_id` = diesel_counters_key AND `number` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = ? FOR UPDATE;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02, 0]

COMMIT;

