-- compact(reaction_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SELECT GET_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4), 0);
-- ["reaction_counters"]

SELECT COUNT(*)
FROM `reaction_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0);
-- [1000-01-01, 2026-04-01]

SELECT `article_id`, `emoji`, `day`, `slot`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0)
ORDER BY `article_id`, `emoji`, `day`, `slot`
LIMIT 100;
-- [1000-01-01, 2026-04-01]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ?, 0), (?, ?, ?, ?, 0)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "🎉", 2026-03-02, 0, 1, "👍", 2026-03-02, 0]

SELECT `article_id`, `emoji`, `day`, `slot`, `given`, `reaction_counters`.*
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `emoji` AS diesel_counters_wanted_1, `day` AS diesel_counters_wanted_2, `slot` AS diesel_counters_wanted_3
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `emoji` = diesel_counters_wanted_1 AND `day` = diesel_counters_wanted_2 AND `slot` = diesel_counters_wanted_3 FOR UPDATE SKIP LOCKED;
-- [1, "🎉", 2026-03-02, 0, 1, "👍", 2026-03-02, 0, 1, "🎉", 2026-03-02, 1, 1, "👍", 2026-03-02, 1, 1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
SELECT `article_id`, `emoji`, `day`, ?, CASE WHEN COALESCE(SUM(`given`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`given`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `emoji` AS diesel_counters_wanted_1, `day` AS diesel_counters_wanted_2, `slot` AS diesel_counters_wanted_3
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `emoji` = diesel_counters_wanted_1 AND `day` = diesel_counters_wanted_2 AND `slot` = diesel_counters_wanted_3
GROUP BY `article_id`, `emoji`, `day`
ORDER BY `article_id`, `emoji`, `day`
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [0, 1, "🎉", 2026-03-02, 1, 1, "👍", 2026-03-02, 1, 1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */ `reaction_counters`
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `emoji` AS diesel_counters_wanted_1, `day` AS diesel_counters_wanted_2, `slot` AS diesel_counters_wanted_3
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `emoji` = diesel_counters_wanted_1 AND `day` = diesel_counters_wanted_2 AND `slot` = diesel_counters_wanted_3;
-- [1, "🎉", 2026-03-02, 1, 1, "👍", 2026-03-02, 1, 1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

SELECT `article_id`, `emoji`, `day`, `slot`, `given`
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `emoji` AS diesel_counters_wanted_1, `day` AS diesel_counters_wanted_2, `slot` AS diesel_counters_wanted_3
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ? UNION ALL
SELECT ?, ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `emoji` = diesel_counters_wanted_1 AND `day` = diesel_counters_wanted_2 AND `slot` = diesel_counters_wanted_3 FOR UPDATE;
-- [1, "🎉", 2026-03-02, 0, 1, "👍", 2026-03-02, 0, 1, "🎉", 2026-03-02, 1, 1, "👍", 2026-03-02, 1, 1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

COMMIT;

SELECT `article_id`, `emoji`, `day`, `slot`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0) AND (`article_id` > ? OR `article_id` = ? AND (`emoji` > ? OR `emoji` = ? AND (`day` > ? OR `day` = ? AND (`slot` > ?))))
ORDER BY `article_id`, `emoji`, `day`, `slot`
LIMIT 100;
-- [1000-01-01, 2026-04-01, 1, 1, "👍", "👍", 2026-03-02, 2026-03-02, 5]

SELECT COUNT(*)
FROM `reaction_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0);
-- [1000-01-01, 2026-04-01]

SELECT RELEASE_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4));
-- ["reaction_counters"]

