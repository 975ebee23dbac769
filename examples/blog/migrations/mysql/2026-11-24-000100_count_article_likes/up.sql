-- Counts the rows of article_likes in article_counters.likes.

CREATE OR REPLACE VIEW `count_article_likes` AS SELECT '{"definition":{"by":"1","count":["article_id:article_counters.likes"],"day":"created_on","name":"count_article_likes","period":"day","rows":"article_likes","slots":16},"targets":[{"view":"count_article_likes_drift","table":"article_counters","key":["article_id"],"slots":["day","slot"],"by_day":true,"counters":["likes"]}]}' AS diesel_counters_trigger;
CREATE OR REPLACE VIEW `count_article_likes_drift` AS SELECT `article_id`, `day`, SUM(`likes`) AS `likes`, SUM(`stored_likes`) AS `stored_likes` FROM (
    SELECT counted.`article_id`, COALESCE(counted.`created_on`, DATE '1970-01-01') AS `day`, 1 AS `likes`, 0 AS `stored_likes` FROM `article_likes` AS counted
    UNION ALL SELECT `article_id`, `day`, 0, `likes` FROM `article_counters`
) AS moved GROUP BY `article_id`, `day` HAVING SUM(`likes`) <> SUM(`stored_likes`);

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `article_counters` WRITE,
    `article_likes` WRITE,
    `count_article_likes_drift` READ;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
SELECT `article_id`, `day`, 0, `likes` - `stored_likes` FROM `count_article_likes_drift` ORDER BY `article_id`, `day`
ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);

DROP TRIGGER IF EXISTS `count_article_likes_insert`;
CREATE TRIGGER `count_article_likes_insert` AFTER INSERT ON `article_likes` FOR EACH ROW
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
VALUES (NEW.`article_id`, COALESCE(NEW.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, 1)
ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);
DROP TRIGGER IF EXISTS `count_article_likes_update`;
CREATE TRIGGER `count_article_likes_update` AFTER UPDATE ON `article_likes` FOR EACH ROW
IF (NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY)) OR NOT (CAST(NEW.`created_on` AS BINARY) <=> CAST(OLD.`created_on` AS BINARY)))
    AND NOT EXISTS (SELECT 1 FROM `article_likes` AS same WHERE same.`article_id` = OLD.`article_id` AND same.`visitor` = OLD.`visitor` AND CAST(same.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY) AND CAST(same.`created_on` AS BINARY) <=> CAST(OLD.`created_on` AS BINARY) LOCK IN SHARE MODE) THEN
    INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
    VALUES (OLD.`article_id`, COALESCE(OLD.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, -1)
    ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);
    INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
    VALUES (NEW.`article_id`, COALESCE(NEW.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, 1)
    ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);
END IF;
DROP TRIGGER IF EXISTS `count_article_likes_delete`;
CREATE TRIGGER `count_article_likes_delete` AFTER DELETE ON `article_likes` FOR EACH ROW
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
VALUES (OLD.`article_id`, COALESCE(OLD.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, -1)
ON DUPLICATE KEY UPDATE `likes` = `article_counters`.`likes` + VALUES(`likes`);

UNLOCK TABLES;
