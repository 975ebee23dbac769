-- fold(article_counters::table).per(Period::Week).before(day(2026, 4, 1)).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SELECT GET_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4), 0);
-- ["article_counters"]

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0 OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY)));
-- [1970-01-05, 2026-03-30]

SELECT `article_id`, `day`, `slot`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0 OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY)))
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [1970-01-05, 2026-03-30]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
VALUES (?, ?, ?, 0, 0, 0)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`), `likes` = `likes` + VALUES(`likes`), `comments` = `comments` + VALUES(`comments`);
-- [2, 2026-03-02, 0]

SELECT `article_id`, `day`, `slot`, `views`, `likes`, `comments`, `article_counters`.*
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2 FOR UPDATE SKIP LOCKED;
-- [2, 2026-03-02, 0, 2, 2026-03-08, 0]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
SELECT `article_id`, GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY)), ?, CASE WHEN COALESCE(SUM(`views`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`views`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END, CASE WHEN COALESCE(SUM(`likes`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`likes`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END, CASE WHEN COALESCE(SUM(`comments`), 0) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(COALESCE(SUM(`comments`), 0) AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2
GROUP BY `article_id`, GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
ORDER BY `article_id`, GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`), `likes` = `likes` + VALUES(`likes`), `comments` = `comments` + VALUES(`comments`);
-- [0, 2, 2026-03-08, 0]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ DELETE /*+ SET_VAR(sql_safe_updates = 0) */ `article_counters`
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2;
-- [2, 2026-03-08, 0]

SELECT `article_id`, `day`, `slot`, `views`, `likes`, `comments`
FROM ((SELECT `article_id` AS diesel_counters_wanted_0, `day` AS diesel_counters_wanted_1, `slot` AS diesel_counters_wanted_2
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_wanted_0 AND `day` = diesel_counters_wanted_1 AND `slot` = diesel_counters_wanted_2 FOR UPDATE;
-- [2, 2026-03-02, 0, 2, 2026-03-08, 0]

COMMIT;

SELECT `article_id`, `day`, `slot`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0 OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))) AND `article_id` >= ? AND (`article_id` > ? OR `day` >= ? AND (`day` > ? OR `slot` > ?))
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [1970-01-05, 2026-03-30, 2, 2, 2026-03-08, 2026-03-08, 0]

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` <> 0 OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY)));
-- [1970-01-05, 2026-03-30]

SELECT RELEASE_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4));
-- ["article_counters"]

