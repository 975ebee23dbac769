-- Counts the rows of bench_posts in bench_site_counters.post_count.

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE OR REPLACE VIEW `bench_count_posts` AS
SELECT '{"name":"bench_count_posts","rows":"bench_posts","count":["bench_site_counters.post_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `bench_posts` AS counted_1 READ,
    `bench_posts` WRITE,
    `bench_site_counters` AS stored_1 READ,
    `bench_site_counters` WRITE;

DROP TRIGGER IF EXISTS `bench_count_posts_insert`;
CREATE TRIGGER `bench_count_posts_insert` AFTER INSERT ON `bench_posts` FOR EACH ROW
INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
SELECT UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
ON DUPLICATE KEY UPDATE `post_count` = `post_count` + VALUES(`post_count`);

DROP TRIGGER IF EXISTS `bench_count_posts_update`;
CREATE TRIGGER `bench_count_posts_update` AFTER UPDATE ON `bench_posts` FOR EACH ROW
BEGIN
    IF 1 = 0
        AND NOT EXISTS (SELECT 1 FROM `bench_posts` AS same WHERE same.`id` = OLD.`id` LOCK IN SHARE MODE) THEN
        INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
        SELECT UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
        ON DUPLICATE KEY UPDATE `post_count` = `post_count` + VALUES(`post_count`);
    END IF;
    IF 1 = 0
        AND NOT EXISTS (SELECT 1 FROM `bench_posts` AS same WHERE same.`id` = OLD.`id` LOCK IN SHARE MODE) THEN
        INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
        SELECT UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
        ON DUPLICATE KEY UPDATE `post_count` = `post_count` + VALUES(`post_count`);
    END IF;
END;

DROP TRIGGER IF EXISTS `bench_count_posts_delete`;
CREATE TRIGGER `bench_count_posts_delete` AFTER DELETE ON `bench_posts` FOR EACH ROW
INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
SELECT UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
ON DUPLICATE KEY UPDATE `post_count` = `post_count` + VALUES(`post_count`);

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_site_counters` (`day`, `slot`, `post_count`)
SELECT day, 0, SUM(count_1)
FROM (
    SELECT DATE '1970-01-01' AS day, 1 AS count_1
    FROM `bench_posts` AS counted_1
    UNION ALL
    SELECT DATE '1970-01-01', -stored_1.`post_count`
    FROM `bench_site_counters` AS stored_1
) AS moved
GROUP BY day
HAVING SUM(count_1) <> 0
ORDER BY day
ON DUPLICATE KEY UPDATE `post_count` = `post_count` + VALUES(`post_count`);

UNLOCK TABLES;
