-- compact(site_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SELECT GET_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4), 0);
-- ["site_counters"]

SELECT COUNT(*)
FROM `site_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0);
-- [1000-01-01, 2026-04-01]

SELECT `day`, `slot`
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0)
ORDER BY `day`, `slot`
LIMIT 100;
-- [1000-01-01, 2026-04-01]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`, `errors`)
VALUES (?, ?, 0, 0)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`), `errors` = `errors` + VALUES(`errors`);
-- [2026-03-02, 0]

SELECT `day`, `slot`, `hits`, `errors`, `site_counters`.*
FROM ((SELECT `day` AS diesel_counters_wanted_0, `slot` AS diesel_counters_wanted_1
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_wanted_0 AND `slot` = diesel_counters_wanted_1 FOR UPDATE SKIP LOCKED;
-- [2026-03-02, 0, 2026-03-02, 1, 2026-03-02, 3, 2026-03-02, 5]

INSERT INTO `site_counters` (`day`, `slot`, `hits`, `errors`)
SELECT `day`, ?, CASE WHEN COALESCE(SUM(`hits`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`hits`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END, CASE WHEN COALESCE(SUM(`errors`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`errors`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END
FROM ((SELECT `day` AS diesel_counters_wanted_0, `slot` AS diesel_counters_wanted_1
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_wanted_0 AND `slot` = diesel_counters_wanted_1
GROUP BY `day`
ORDER BY `day`
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`), `errors` = `errors` + VALUES(`errors`);
-- [0, 2026-03-02, 1, 2026-03-02, 3, 2026-03-02, 5]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */ `site_counters`
FROM ((SELECT `day` AS diesel_counters_wanted_0, `slot` AS diesel_counters_wanted_1
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_wanted_0 AND `slot` = diesel_counters_wanted_1;
-- [2026-03-02, 1, 2026-03-02, 3, 2026-03-02, 5]

SELECT `day`, `slot`, `hits`, `errors`
FROM ((SELECT `day` AS diesel_counters_wanted_0, `slot` AS diesel_counters_wanted_1
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ? UNION ALL
SELECT ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_wanted_0 AND `slot` = diesel_counters_wanted_1 FOR UPDATE;
-- [2026-03-02, 0, 2026-03-02, 1, 2026-03-02, 3, 2026-03-02, 5]

COMMIT;

SELECT `day`, `slot`
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0) AND `day` >= ? AND (`day` > ? OR `slot` > ?)
ORDER BY `day`, `slot`
LIMIT 100;
-- [1000-01-01, 2026-04-01, 2026-03-02, 2026-03-02, 5]

SELECT COUNT(*)
FROM `site_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0);
-- [1000-01-01, 2026-04-01]

SELECT RELEASE_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4));
-- ["site_counters"]

