-- with_default_slot(NODE, || compact(article_counters::table).before(day(2026, 4, 1)).execute(conn))

SELECT /*vt+ PRIORITY=none */ 0;

SELECT GET_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4), 0);
-- ["article_counters"]

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` > 0) AND (`slot` = ? OR `slot` > 0 AND (`slot` - 1) % ? = ?);
-- [1000-01-01, 2026-04-01, -1, 3, 1]

SELECT RELEASE_LOCK(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', CONCAT_WS('.', REPLACE(DATABASE(), '`', ''), ?)) USING utf8mb4)), 224) USING utf8mb4));
-- ["article_counters"]

