-- compact(article_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SELECT GET_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4), 0);
-- ["article_counters"]

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0);
-- [1000-01-01, 2026-04-01]

SELECT `article_id`, `day`, `slot`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0)
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [1000-01-01, 2026-04-01]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
VALUES (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`), `likes` = `likes` + VALUES(`likes`), `comments` = `comments` + VALUES(`comments`);
-- [1, 1970-01-01, 0, 1, 2026-03-02, 0, 2, 2026-03-08, 0, 2, 2026-03-02, 0, 3, 2026-03-02, 0]

SELECT `article_id`, `day`, `slot`, `views`, `likes`, `comments`, `article_counters`.*
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2 FOR UPDATE SKIP LOCKED;
-- [1, 1970-01-01, 0, 1, 2026-03-02, 0, 2, 2026-03-08, 0, 2, 2026-03-02, 0, 3, 2026-03-02, 0, 1, 1970-01-01, 1, 1, 2026-03-02, 1, 1, 2026-03-02, 2, 1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-02, 1, 2, 2026-03-08, 1, 3, 2026-03-02, 1]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
SELECT `article_id`, `day`, ?, CASE WHEN COALESCE(SUM(`views`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`views`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END, CASE WHEN COALESCE(SUM(`likes`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`likes`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END, CASE WHEN COALESCE(SUM(`comments`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`comments`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2
GROUP BY `article_id`, `day`
ORDER BY `article_id`, `day`
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`), `likes` = `likes` + VALUES(`likes`), `comments` = `comments` + VALUES(`comments`);
-- [0, 1, 1970-01-01, 1, 1, 2026-03-02, 1, 1, 2026-03-02, 2, 1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-02, 1, 2, 2026-03-08, 1, 3, 2026-03-02, 1]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */ `article_counters`
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2;
-- [1, 1970-01-01, 1, 1, 2026-03-02, 1, 1, 2026-03-02, 2, 1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-02, 1, 2, 2026-03-08, 1, 3, 2026-03-02, 1]

SELECT `article_id`, `day`, `slot`, `views`, `likes`, `comments`
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2 FOR UPDATE;
-- [1, 1970-01-01, 0, 1, 2026-03-02, 0, 2, 2026-03-02, 0, 2, 2026-03-08, 0, 3, 2026-03-02, 0, 1, 1970-01-01, 1, 1, 2026-03-02, 1, 1, 2026-03-02, 2, 1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-02, 1, 2, 2026-03-08, 1, 3, 2026-03-02, 1]

COMMIT;

SELECT `article_id`, `day`, `slot`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0) AND `article_id` >= ? AND (`article_id` > ? OR `day` >= ? AND (`day` > ? OR `slot` > ?))
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [1000-01-01, 2026-04-01, 3, 3, 2026-03-02, 2026-03-02, 1]

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0);
-- [1000-01-01, 2026-04-01]

SELECT RELEASE_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4));
-- ["article_counters"]

