-- set_counter(site_counters::hits).of_days([((), monday(), 3)]).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1970-01-01, 0, 0]

SELECT `diesel_counters_number`, COALESCE(SUM(`hits`), 0) DIV 1
FROM ((SELECT `day` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_key
GROUP BY `diesel_counters_number`;
-- [2026-03-02]

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 0, 0]

SELECT `diesel_counters_number`, `hits`
FROM ((SELECT `day` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_key AND `slot` = ? FOR UPDATE;
-- [2026-03-02, 0]

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 0, -4]

SELECT `diesel_counters_number`, `hits`
FROM ((SELECT `day` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_key AND `slot` = ? FOR UPDATE;
-- [2026-03-02, 0]

COMMIT;

