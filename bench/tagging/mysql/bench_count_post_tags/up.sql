-- Counts the rows of bench_post_tags in bench_post_counters.tag_count, bench_tag_counters.usage_count.

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE OR REPLACE VIEW `bench_count_post_tags` AS
SELECT '{"name":"bench_count_post_tags","rows":"bench_post_tags","count":["post_id:bench_post_counters.tag_count","tag_id:bench_tag_counters.usage_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

DROP TRIGGER IF EXISTS `bench_count_post_tags_of_post_id`;
CREATE TRIGGER `bench_count_post_tags_of_post_id` BEFORE DELETE ON `bench_posts` FOR EACH ROW
INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
SELECT entity, day, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(count_1)
FROM (
    SELECT counted_2.`tag_id` AS entity, UTC_DATE() AS day, -1 AS count_1
    FROM (SELECT * FROM `bench_post_tags` WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted_2
    WHERE counted_2.`tag_id` IS NOT NULL
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON DUPLICATE KEY UPDATE `usage_count` = `usage_count` + VALUES(`usage_count`);

DROP TRIGGER IF EXISTS `bench_count_post_tags_after_post_id`;
CREATE TRIGGER `bench_count_post_tags_after_post_id` AFTER DELETE ON `bench_posts` FOR EACH ROW
INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
SELECT entity, day, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(count_1)
FROM (
    SELECT counted_2.`tag_id` AS entity, UTC_DATE() AS day, 1 AS count_1
    FROM (SELECT * FROM `bench_post_tags` WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted_2
    WHERE counted_2.`tag_id` IS NOT NULL
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON DUPLICATE KEY UPDATE `usage_count` = `usage_count` + VALUES(`usage_count`);

DROP TRIGGER IF EXISTS `bench_count_post_tags_of_tag_id`;
CREATE TRIGGER `bench_count_post_tags_of_tag_id` BEFORE DELETE ON `bench_tags` FOR EACH ROW
INSERT INTO `bench_post_counters` (`post_id`, `day`, `slot`, `tag_count`)
SELECT entity, day, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(count_1)
FROM (
    SELECT counted_1.`post_id` AS entity, UTC_DATE() AS day, -1 AS count_1
    FROM (SELECT * FROM `bench_post_tags` WHERE (`tag_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted_1
    WHERE counted_1.`post_id` IS NOT NULL
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON DUPLICATE KEY UPDATE `tag_count` = `tag_count` + VALUES(`tag_count`);

DROP TRIGGER IF EXISTS `bench_count_post_tags_after_tag_id`;
CREATE TRIGGER `bench_count_post_tags_after_tag_id` AFTER DELETE ON `bench_tags` FOR EACH ROW
INSERT INTO `bench_post_counters` (`post_id`, `day`, `slot`, `tag_count`)
SELECT entity, day, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(count_1)
FROM (
    SELECT counted_1.`post_id` AS entity, UTC_DATE() AS day, 1 AS count_1
    FROM (SELECT * FROM `bench_post_tags` WHERE (`tag_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted_1
    WHERE counted_1.`post_id` IS NOT NULL
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON DUPLICATE KEY UPDATE `tag_count` = `tag_count` + VALUES(`tag_count`);

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `bench_post_counters` AS stored_1 READ,
    `bench_post_counters` WRITE,
    `bench_post_tags` AS counted_1 READ,
    `bench_post_tags` AS counted_2 READ,
    `bench_post_tags` WRITE,
    `bench_tag_counters` AS stored_2 READ,
    `bench_tag_counters` WRITE;

DROP TRIGGER IF EXISTS `bench_count_post_tags_insert`;
CREATE TRIGGER `bench_count_post_tags_insert` AFTER INSERT ON `bench_post_tags` FOR EACH ROW
BEGIN
    INSERT INTO `bench_post_counters` (`post_id`, `day`, `slot`, `tag_count`)
    SELECT NEW.`post_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
    WHERE NEW.`post_id` IS NOT NULL
    ON DUPLICATE KEY UPDATE `tag_count` = `tag_count` + VALUES(`tag_count`);
    INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
    SELECT NEW.`tag_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
    WHERE NEW.`tag_id` IS NOT NULL
    ON DUPLICATE KEY UPDATE `usage_count` = `usage_count` + VALUES(`usage_count`);
END;

DROP TRIGGER IF EXISTS `bench_count_post_tags_update`;
CREATE TRIGGER `bench_count_post_tags_update` AFTER UPDATE ON `bench_post_tags` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_post_tags` AS same WHERE same.`post_id` = OLD.`post_id` AND same.`tag_id` = OLD.`tag_id` AND CAST(same.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `bench_post_counters` (`post_id`, `day`, `slot`, `tag_count`)
        SELECT OLD.`post_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
        WHERE OLD.`post_id` IS NOT NULL
        ON DUPLICATE KEY UPDATE `tag_count` = `tag_count` + VALUES(`tag_count`);
    END IF;
    IF (NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_post_tags` AS same WHERE same.`post_id` = OLD.`post_id` AND same.`tag_id` = OLD.`tag_id` AND CAST(same.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `bench_post_counters` (`post_id`, `day`, `slot`, `tag_count`)
        SELECT NEW.`post_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
        WHERE NEW.`post_id` IS NOT NULL
        ON DUPLICATE KEY UPDATE `tag_count` = `tag_count` + VALUES(`tag_count`);
    END IF;
    IF (NOT (CAST(NEW.`tag_id` AS BINARY) <=> CAST(OLD.`tag_id` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_post_tags` AS same WHERE same.`post_id` = OLD.`post_id` AND same.`tag_id` = OLD.`tag_id` AND CAST(same.`tag_id` AS BINARY) <=> CAST(OLD.`tag_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
        SELECT OLD.`tag_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
        WHERE OLD.`tag_id` IS NOT NULL
        ON DUPLICATE KEY UPDATE `usage_count` = `usage_count` + VALUES(`usage_count`);
    END IF;
    IF (NOT (CAST(NEW.`tag_id` AS BINARY) <=> CAST(OLD.`tag_id` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `bench_post_tags` AS same WHERE same.`post_id` = OLD.`post_id` AND same.`tag_id` = OLD.`tag_id` AND CAST(same.`tag_id` AS BINARY) <=> CAST(OLD.`tag_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
        SELECT NEW.`tag_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
        WHERE NEW.`tag_id` IS NOT NULL
        ON DUPLICATE KEY UPDATE `usage_count` = `usage_count` + VALUES(`usage_count`);
    END IF;
END;

DROP TRIGGER IF EXISTS `bench_count_post_tags_delete`;
CREATE TRIGGER `bench_count_post_tags_delete` AFTER DELETE ON `bench_post_tags` FOR EACH ROW
BEGIN
    INSERT INTO `bench_post_counters` (`post_id`, `day`, `slot`, `tag_count`)
    SELECT OLD.`post_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
    WHERE OLD.`post_id` IS NOT NULL
    ON DUPLICATE KEY UPDATE `tag_count` = `tag_count` + VALUES(`tag_count`);
    INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
    SELECT OLD.`tag_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
    WHERE OLD.`tag_id` IS NOT NULL
    ON DUPLICATE KEY UPDATE `usage_count` = `usage_count` + VALUES(`usage_count`);
END;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `bench_post_counters` (`post_id`, `day`, `slot`, `tag_count`)
SELECT entity, day, 0, SUM(count_1)
FROM (
    SELECT counted_1.`post_id` AS entity, DATE '1970-01-01' AS day, 1 AS count_1
    FROM `bench_post_tags` AS counted_1
    WHERE counted_1.`post_id` IS NOT NULL
    UNION ALL
    SELECT stored_1.`post_id`, DATE '1970-01-01', -stored_1.`tag_count`
    FROM `bench_post_counters` AS stored_1
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON DUPLICATE KEY UPDATE `tag_count` = `tag_count` + VALUES(`tag_count`);
INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
SELECT entity, day, 0, SUM(count_1)
FROM (
    SELECT counted_2.`tag_id` AS entity, DATE '1970-01-01' AS day, 1 AS count_1
    FROM `bench_post_tags` AS counted_2
    WHERE counted_2.`tag_id` IS NOT NULL
    UNION ALL
    SELECT stored_2.`tag_id`, DATE '1970-01-01', -stored_2.`usage_count`
    FROM `bench_tag_counters` AS stored_2
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON DUPLICATE KEY UPDATE `usage_count` = `usage_count` + VALUES(`usage_count`);

UNLOCK TABLES;
