-- Counts the rows of article_likes in article_counters.likes.

-- The definition of the triggers, for `diesel-counters check` and `recount`.
CREATE OR REPLACE VIEW `count_article_likes` AS
SELECT '{"name":"count_article_likes","rows":"article_likes","count":["article_id:article_counters.likes"],"by":"1","period":"day","slots":32}' AS diesel_counters_trigger;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `article_counters` AS stored_1 READ,
    `article_counters` WRITE,
    `article_likes` AS counted_1 READ,
    `article_likes` WRITE;

DROP TRIGGER IF EXISTS `count_article_likes_insert`;
CREATE TRIGGER `count_article_likes_insert` AFTER INSERT ON `article_likes` FOR EACH ROW
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
SELECT NEW.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
WHERE NEW.`article_id` IS NOT NULL
ON DUPLICATE KEY UPDATE `likes` = `likes` + VALUES(`likes`);

DROP TRIGGER IF EXISTS `count_article_likes_update`;
CREATE TRIGGER `count_article_likes_update` AFTER UPDATE ON `article_likes` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `article_likes` AS same WHERE same.`article_id` = OLD.`article_id` AND same.`user_id` = OLD.`user_id` AND CAST(same.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
        SELECT OLD.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
        WHERE OLD.`article_id` IS NOT NULL
        ON DUPLICATE KEY UPDATE `likes` = `likes` + VALUES(`likes`);
    END IF;
    IF (NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `article_likes` AS same WHERE same.`article_id` = OLD.`article_id` AND same.`user_id` = OLD.`user_id` AND CAST(same.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
        SELECT NEW.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1 FROM DUAL
        WHERE NEW.`article_id` IS NOT NULL
        ON DUPLICATE KEY UPDATE `likes` = `likes` + VALUES(`likes`);
    END IF;
END;

DROP TRIGGER IF EXISTS `count_article_likes_delete`;
CREATE TRIGGER `count_article_likes_delete` AFTER DELETE ON `article_likes` FOR EACH ROW
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
SELECT OLD.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1 FROM DUAL
WHERE OLD.`article_id` IS NOT NULL
ON DUPLICATE KEY UPDATE `likes` = `likes` + VALUES(`likes`);

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
SELECT entity, day, 0, SUM(count_1)
FROM (
    SELECT counted_1.`article_id` AS entity, DATE '1970-01-01' AS day, 1 AS count_1
    FROM `article_likes` AS counted_1
    WHERE counted_1.`article_id` IS NOT NULL
    UNION ALL
    SELECT stored_1.`article_id`, DATE '1970-01-01', -stored_1.`likes`
    FROM `article_counters` AS stored_1
) AS moved
GROUP BY entity, day
HAVING SUM(count_1) <> 0
ORDER BY entity, day
ON DUPLICATE KEY UPDATE `likes` = `likes` + VALUES(`likes`);

UNLOCK TABLES;
