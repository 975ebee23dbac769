-- Counts the rows of bench_posts in bench_site_counters.post_count.

CREATE OR REPLACE VIEW `bench_count_posts` AS SELECT '{"name":"bench_count_posts","rows":"bench_posts","count":["bench_site_counters.post_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `bench_posts` AS `counted_bench_posts` READ,
    `bench_posts` WRITE,
    `bench_site_counters` AS `kept_bench_site_counters` READ,
    `bench_site_counters` WRITE;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
SELECT DATE '1970-01-01', 0, drift.`post_count` - drift.`stored_post_count` FROM (SELECT SUM(`post_count`) AS `post_count`, SUM(`stored_post_count`) AS `stored_post_count` FROM (
    SELECT 1 AS `post_count`, 0 AS `stored_post_count` FROM `bench_posts` AS `counted_bench_posts`
    UNION ALL SELECT 0, `kept_bench_site_counters`.`post_count` FROM `bench_site_counters` AS `kept_bench_site_counters`
) AS moved HAVING SUM(`post_count`) <> SUM(`stored_post_count`)) AS drift WHERE true
ON DUPLICATE KEY UPDATE `post_count` = `bench_site_counters`.`post_count` + VALUES(`post_count`);

DROP TRIGGER IF EXISTS `bench_count_posts_insert`;
CREATE TRIGGER `bench_count_posts_insert` AFTER INSERT ON `bench_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
    VALUES (UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, 1)
    ON DUPLICATE KEY UPDATE `post_count` = `bench_site_counters`.`post_count` + VALUES(`post_count`);
END;
DROP TRIGGER IF EXISTS `bench_count_posts_delete`;
CREATE TRIGGER `bench_count_posts_delete` AFTER DELETE ON `bench_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
    VALUES (UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, -1)
    ON DUPLICATE KEY UPDATE `post_count` = `bench_site_counters`.`post_count` + VALUES(`post_count`);
END;

UNLOCK TABLES;
