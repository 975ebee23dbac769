-- Counts the rows of article_likes in articles.like_count, article_counters.likes.

CREATE OR REPLACE VIEW `count_article_likes` AS SELECT '{"definition":{"by":"1","count":["article_id:article_counters.likes","article_id:articles.like_count"],"name":"count_article_likes","period":"day","rows":"article_likes","slots":32},"targets":[{"view":"count_article_likes_drift","table":"articles","key":["id"],"counters":["like_count"]},{"view":"count_article_likes_drift_2","table":"article_counters","key":["article_id"],"slots":["day","slot"],"counters":["likes"]}]}' AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `count_article_likes_drift` AS SELECT `id`, SUM(`like_count`) AS `like_count`, SUM(`stored_like_count`) AS `stored_like_count` FROM (
    SELECT counted.`article_id` AS `id`, 1 AS `like_count`, 0 AS `stored_like_count` FROM `article_likes` AS counted
    UNION ALL SELECT `id`, 0, `like_count` FROM `articles`
) AS moved GROUP BY `id` HAVING SUM(`like_count`) <> SUM(`stored_like_count`);
CREATE OR REPLACE VIEW `count_article_likes_drift_2` AS SELECT `article_id`, SUM(`likes`) AS `likes`, SUM(`stored_likes`) AS `stored_likes` FROM (
    SELECT counted.`article_id`, 1 AS `likes`, 0 AS `stored_likes` FROM `article_likes` AS counted
    UNION ALL SELECT `article_id`, 0, `likes` FROM `article_counters`
) AS moved GROUP BY `article_id` HAVING SUM(`likes`) <> SUM(`stored_likes`);

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `article_counters` WRITE,
    `article_likes` WRITE,
    `articles` WRITE,
    `count_article_likes_drift_2` READ,
    `count_article_likes_drift` READ;

-- Counts the existing rows: adds the difference between the rows and the counters.
UPDATE `articles` JOIN `count_article_likes_drift` ON `articles`.`id` = `count_article_likes_drift`.`id` SET `articles`.`like_count` = `articles`.`like_count` + `count_article_likes_drift`.`like_count` - `count_article_likes_drift`.`stored_like_count`;
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
SELECT `article_id`, DATE '1970-01-01', 0, `likes` - `stored_likes` FROM `count_article_likes_drift_2` ORDER BY `article_id`
ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);

DROP TRIGGER IF EXISTS `count_article_likes_lock_insert`;
CREATE TRIGGER `count_article_likes_lock_insert` BEFORE INSERT ON `article_likes` FOR EACH ROW
SET @diesel_counters_locked = (SELECT COUNT(*) FROM `articles` WHERE (`id`) IN ((NEW.`article_id`)) FOR UPDATE);
DROP TRIGGER IF EXISTS `count_article_likes_lock_update`;
CREATE TRIGGER `count_article_likes_lock_update` BEFORE UPDATE ON `article_likes` FOR EACH ROW
IF NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY)) THEN
    SET @diesel_counters_locked = (SELECT COUNT(*) FROM `articles` WHERE (`id`) IN ((OLD.`article_id`), (NEW.`article_id`)) FOR UPDATE);
END IF;
DROP TRIGGER IF EXISTS `count_article_likes_insert`;
CREATE TRIGGER `count_article_likes_insert` AFTER INSERT ON `article_likes` FOR EACH ROW
BEGIN
    UPDATE `articles` SET `like_count` = `like_count` + 1
    WHERE `id` = NEW.`article_id`;
    INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
    VALUES (NEW.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
    ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);
END;
DROP TRIGGER IF EXISTS `count_article_likes_update`;
CREATE TRIGGER `count_article_likes_update` AFTER UPDATE ON `article_likes` FOR EACH ROW
BEGIN
    IF NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `article_likes` AS same WHERE same.`article_id` = OLD.`article_id` AND same.`user_id` = OLD.`user_id` AND CAST(same.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY) LOCK IN SHARE MODE) THEN
        UPDATE `articles` SET `like_count` = `like_count` + -1
        WHERE `id` = OLD.`article_id`;
        UPDATE `articles` SET `like_count` = `like_count` + 1
        WHERE `id` = NEW.`article_id`;
    END IF;
    IF NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY))
        AND NOT EXISTS (SELECT 1 FROM `article_likes` AS same WHERE same.`article_id` = OLD.`article_id` AND same.`user_id` = OLD.`user_id` AND CAST(same.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
        VALUES (OLD.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);
        INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
        VALUES (NEW.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);
    END IF;
END;
DROP TRIGGER IF EXISTS `count_article_likes_delete`;
CREATE TRIGGER `count_article_likes_delete` AFTER DELETE ON `article_likes` FOR EACH ROW
BEGIN
    UPDATE `articles` SET `like_count` = `like_count` + -1
    WHERE `id` = OLD.`article_id`;
    INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
    VALUES (OLD.`article_id`, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
    ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);
END;

UNLOCK TABLES;
