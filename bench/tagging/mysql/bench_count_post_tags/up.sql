-- Rows are locked in this order, as the program must lock them: bench_post_tags, bench_posts.
-- Counts the rows of bench_post_tags in bench_posts.tag_count, bench_tag_counters.usage_count.

CREATE OR REPLACE VIEW `bench_count_post_tags` AS SELECT '{"name":"bench_count_post_tags","rows":"bench_post_tags","count":["post_id:bench_posts.tag_count","tag_id:bench_tag_counters.usage_count"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;
DROP TRIGGER IF EXISTS `bench_count_post_tags_of_post_id`;
CREATE TRIGGER `bench_count_post_tags_of_post_id` BEFORE DELETE ON `bench_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
    SELECT `tag_id`, UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, SUM(`usage_count`) FROM (
        SELECT counted.`tag_id`, -1 AS `usage_count` FROM (SELECT * FROM `bench_post_tags` WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
    ) AS moved GROUP BY `tag_id`
    HAVING SUM(`usage_count`) <> 0 ORDER BY `tag_id`
    ON DUPLICATE KEY UPDATE `usage_count` = `bench_tag_counters`.`usage_count` + VALUES(`usage_count`);
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_after_post_id`;
CREATE TRIGGER `bench_count_post_tags_after_post_id` AFTER DELETE ON `bench_posts` FOR EACH ROW
BEGIN
    INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
    SELECT `tag_id`, UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, SUM(`usage_count`) FROM (
        SELECT counted.`tag_id`, 1 AS `usage_count` FROM (SELECT * FROM `bench_post_tags` WHERE (`post_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
    ) AS moved GROUP BY `tag_id`
    HAVING SUM(`usage_count`) <> 0 ORDER BY `tag_id`
    ON DUPLICATE KEY UPDATE `usage_count` = `bench_tag_counters`.`usage_count` + VALUES(`usage_count`);
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_of_tag_id`;
CREATE TRIGGER `bench_count_post_tags_of_tag_id` BEFORE DELETE ON `bench_tags` FOR EACH ROW
BEGIN
    UPDATE `bench_posts` JOIN (
        SELECT `id`, SUM(`tag_count`) AS `tag_count` FROM (
            SELECT counted.`post_id` AS `id`, -1 AS `tag_count` FROM (SELECT * FROM `bench_post_tags` WHERE (`tag_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        ) AS moved GROUP BY `id`
        HAVING SUM(`tag_count`) <> 0 ORDER BY `id`
    ) AS moved ON `bench_posts`.`id` = moved.`id` SET `bench_posts`.`tag_count` = `bench_posts`.`tag_count` + moved.`tag_count`;
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_after_tag_id`;
CREATE TRIGGER `bench_count_post_tags_after_tag_id` AFTER DELETE ON `bench_tags` FOR EACH ROW
BEGIN
    UPDATE `bench_posts` JOIN (
        SELECT `id`, SUM(`tag_count`) AS `tag_count` FROM (
            SELECT counted.`post_id` AS `id`, 1 AS `tag_count` FROM (SELECT * FROM `bench_post_tags` WHERE (`tag_id` <=> OLD.`id`) AND @@foreign_key_checks FOR UPDATE) AS counted
        ) AS moved GROUP BY `id`
        HAVING SUM(`tag_count`) <> 0 ORDER BY `id`
    ) AS moved ON `bench_posts`.`id` = moved.`id` SET `bench_posts`.`tag_count` = `bench_posts`.`tag_count` + moved.`tag_count`;
END;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `bench_post_tags` AS `counted_bench_post_tags` READ,
    `bench_post_tags` WRITE,
    `bench_posts` AS `kept_bench_posts` READ,
    `bench_posts` WRITE,
    `bench_tag_counters` AS `kept_bench_tag_counters` READ,
    `bench_tag_counters` WRITE,
    `bench_tags` AS `parent_bench_tags` READ;

-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `bench_posts` JOIN (SELECT `id`, SUM(`tag_count`) AS `tag_count`, SUM(`stored_tag_count`) AS `stored_tag_count` FROM (
    SELECT `counted_bench_post_tags`.`post_id` AS `id`, 1 AS `tag_count`, 0 AS `stored_tag_count` FROM `bench_post_tags` AS `counted_bench_post_tags`
    UNION ALL SELECT `kept_bench_posts`.`id`, 0, `kept_bench_posts`.`tag_count` FROM `bench_posts` AS `kept_bench_posts`
) AS moved GROUP BY `id` HAVING SUM(`tag_count`) <> SUM(`stored_tag_count`)) AS drift ON `bench_posts`.`id` = drift.`id` SET `bench_posts`.`tag_count` = `bench_posts`.`tag_count` + (drift.`tag_count` - drift.`stored_tag_count`);
INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
SELECT `tag_id`, DATE '1970-01-01', 0, drift.`usage_count` - drift.`stored_usage_count` FROM (SELECT `tag_id`, SUM(`usage_count`) AS `usage_count`, SUM(`stored_usage_count`) AS `stored_usage_count` FROM (
    SELECT `counted_bench_post_tags`.`tag_id`, 1 AS `usage_count`, 0 AS `stored_usage_count` FROM `bench_post_tags` AS `counted_bench_post_tags`
    UNION ALL SELECT `kept_bench_tag_counters`.`tag_id`, 0, `kept_bench_tag_counters`.`usage_count` FROM `bench_tag_counters` AS `kept_bench_tag_counters`
) AS moved GROUP BY `tag_id` HAVING SUM(`usage_count`) <> SUM(`stored_usage_count`)) AS drift ORDER BY `tag_id`
ON DUPLICATE KEY UPDATE `usage_count` = `bench_tag_counters`.`usage_count` + VALUES(`usage_count`);

DROP TRIGGER IF EXISTS `bench_count_post_tags_lock_insert`;
CREATE TRIGGER `bench_count_post_tags_lock_insert` BEFORE INSERT ON `bench_post_tags` FOR EACH ROW
BEGIN
    SET @diesel_counters_locked = (SELECT COUNT(*) FROM `bench_posts` WHERE (`id`) IN ((NEW.`post_id`)) FOR UPDATE);
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_lock_update`;
CREATE TRIGGER `bench_count_post_tags_lock_update` BEFORE UPDATE ON `bench_post_tags` FOR EACH ROW
BEGIN
    IF NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY)) THEN
        SET @diesel_counters_locked = (SELECT COUNT(*) FROM `bench_posts` WHERE (`id`) IN ((OLD.`post_id`), (NEW.`post_id`)) FOR UPDATE);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_lock_delete`;
CREATE TRIGGER `bench_count_post_tags_lock_delete` BEFORE DELETE ON `bench_post_tags` FOR EACH ROW
BEGIN
    SET @diesel_counters_locked = (SELECT COUNT(*) FROM `bench_posts` WHERE (`id`) IN ((OLD.`post_id`)) FOR UPDATE);
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_insert`;
CREATE TRIGGER `bench_count_post_tags_insert` AFTER INSERT ON `bench_post_tags` FOR EACH ROW
BEGIN
    UPDATE `bench_posts` SET `tag_count` = `tag_count` + 1
    WHERE `id` = NEW.`post_id`;
    INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
    VALUES (NEW.`tag_id`, UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, 1)
    ON DUPLICATE KEY UPDATE `usage_count` = `bench_tag_counters`.`usage_count` + VALUES(`usage_count`);
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_update`;
CREATE TRIGGER `bench_count_post_tags_update` AFTER UPDATE ON `bench_post_tags` FOR EACH ROW
BEGIN
    IF NOT (CAST(NEW.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `bench_post_tags` AS same WHERE same.`post_id` = OLD.`post_id` AND same.`tag_id` = OLD.`tag_id` AND CAST(same.`post_id` AS BINARY) <=> CAST(OLD.`post_id` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `bench_posts` SET `tag_count` = `tag_count` + -1
        WHERE `id` = OLD.`post_id`;
        UPDATE `bench_posts` SET `tag_count` = `tag_count` + 1
        WHERE `id` = NEW.`post_id`;
    END IF;
    IF NOT (CAST(NEW.`tag_id` AS BINARY) <=> CAST(OLD.`tag_id` AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `bench_post_tags` AS same WHERE same.`post_id` = OLD.`post_id` AND same.`tag_id` = OLD.`tag_id` AND CAST(same.`tag_id` AS BINARY) <=> CAST(OLD.`tag_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
        VALUES (OLD.`tag_id`, UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE `usage_count` = `bench_tag_counters`.`usage_count` + VALUES(`usage_count`);
        INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
        VALUES (NEW.`tag_id`, UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE `usage_count` = `bench_tag_counters`.`usage_count` + VALUES(`usage_count`);
    END IF;
END;
DROP TRIGGER IF EXISTS `bench_count_post_tags_delete`;
CREATE TRIGGER `bench_count_post_tags_delete` AFTER DELETE ON `bench_post_tags` FOR EACH ROW
BEGIN
    UPDATE `bench_posts` SET `tag_count` = `tag_count` + -1
    WHERE `id` = OLD.`post_id`;
    INSERT INTO `bench_tag_counters` (`tag_id`, `day`, `slot`, `usage_count`)
    VALUES (OLD.`tag_id`, UTC_DATE(), 1 + COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % 32, -1)
    ON DUPLICATE KEY UPDATE `usage_count` = `bench_tag_counters`.`usage_count` + VALUES(`usage_count`);
END;

UNLOCK TABLES;
