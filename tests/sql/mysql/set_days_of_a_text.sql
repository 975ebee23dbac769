-- set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `page_counters` (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- ["/", 1970-01-01, 0, 0]

SELECT HEX(`path`)
FROM `page_counters`
WHERE `path` IN (?) AND `day` = ? AND `slot` = ?;
-- ["/", 1970-01-01, 0]

SELECT `diesel_counters_number`, COALESCE(SUM(`hits`), 0) DIV 1
FROM ((SELECT `path` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `page_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `page_counters` FORCE INDEX (PRIMARY) ON `path` = diesel_counters_key AND `day` = diesel_counters_key_1
GROUP BY `diesel_counters_number`;
-- ["/", 2026-03-02]

INSERT INTO `page_counters` (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- ["/", 2026-03-02, 0, 0]

SELECT `diesel_counters_number`, `hits`
FROM ((SELECT `path` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `page_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `page_counters` FORCE INDEX (PRIMARY) ON `path` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = ? FOR UPDATE;
-- ["/", 2026-03-02, 0]

INSERT INTO `page_counters` (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- ["/", 2026-03-02, 0, 2]

SELECT `diesel_counters_number`, `hits`
FROM ((SELECT `path` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `page_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `page_counters` FORCE INDEX (PRIMARY) ON `path` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = ? FOR UPDATE;
-- ["/", 2026-03-02, 0]

COMMIT;

