-- Counts the rows of article_likes in article_counters.likes.

CREATE OR REPLACE VIEW `count_article_likes` AS SELECT
    '{"name":"count_article_likes","rows":"article_likes",'
    '"count":["article_id:article_counters.likes"],"by":"1","day":"created_on","period":"day",'
    '"slots":16,"migration":1}'
    AS diesel_counters_trigger;

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    `article_counters` AS `kept_article_counters` READ,
    `article_counters` WRITE,
    `article_likes` AS `counted_article_likes` READ,
    `article_likes` WRITE,
    `articles` AS `parent_articles` READ;

-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
SELECT `article_id`, `day`, 0, drift.`likes` - drift.`stored_likes`
FROM (
    SELECT `article_id`, `day`, SUM(`likes`) AS `likes`, SUM(`stored_likes`) AS `stored_likes`
    FROM (
        SELECT `counted_article_likes`.`article_id`, COALESCE(`counted_article_likes`.`created_on`,
            DATE '1970-01-01') AS `day`, 1 AS `likes`, 0 AS `stored_likes`
        FROM `article_likes` AS `counted_article_likes`
        UNION ALL
        SELECT `kept_article_counters`.`article_id`, `kept_article_counters`.`day`, 0, `kept_article_counters`.`likes`
        FROM `article_counters` AS `kept_article_counters`
    ) AS moved
    GROUP BY `article_id`, `day`
    HAVING SUM(`likes`) <> SUM(`stored_likes`)
) AS drift
ORDER BY 1, 2
ON DUPLICATE KEY UPDATE
    `likes` = `article_counters`.`likes` + VALUES(`likes`);

DROP TRIGGER IF EXISTS `count_article_likes_insert`;
CREATE TRIGGER `count_article_likes_insert` AFTER INSERT ON `article_likes` FOR EACH ROW
BEGIN
    INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
    VALUES (NEW.`article_id`, COALESCE(NEW.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number,
        CONNECTION_ID()) % 16, 1)
    ON DUPLICATE KEY UPDATE
        `likes` = `article_counters`.`likes` + VALUES(`likes`);
END;
DROP TRIGGER IF EXISTS `count_article_likes_update`;
CREATE TRIGGER `count_article_likes_update` AFTER UPDATE ON `article_likes` FOR EACH ROW
BEGIN
    IF (NOT (CAST(NEW.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY))
        OR NOT (CAST(NEW.`created_on` AS BINARY) <=> CAST(OLD.`created_on` AS BINARY)))
        AND NOT EXISTS (SELECT 1 FROM `article_likes` AS same
            WHERE same.`article_id` = OLD.`article_id` AND same.`visitor` = OLD.`visitor`
                AND CAST(same.`article_id` AS BINARY) <=> CAST(OLD.`article_id` AS BINARY)
                AND CAST(same.`created_on` AS BINARY) <=> CAST(OLD.`created_on` AS BINARY) LOCK IN SHARE MODE) THEN
        INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
        VALUES (OLD.`article_id`, COALESCE(OLD.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number,
            CONNECTION_ID()) % 16, -1)
        ON DUPLICATE KEY UPDATE
            `likes` = `article_counters`.`likes` + VALUES(`likes`);
        INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
        VALUES (NEW.`article_id`, COALESCE(NEW.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number,
            CONNECTION_ID()) % 16, 1)
        ON DUPLICATE KEY UPDATE
            `likes` = `article_counters`.`likes` + VALUES(`likes`);
    END IF;
END;
DROP TRIGGER IF EXISTS `count_article_likes_delete`;
CREATE TRIGGER `count_article_likes_delete` AFTER DELETE ON `article_likes` FOR EACH ROW
BEGIN
    INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`)
    VALUES (OLD.`article_id`, COALESCE(OLD.`created_on`, DATE '1970-01-01'), 1 + COALESCE(@diesel_counters_number,
        CONNECTION_ID()) % 16, -1)
    ON DUPLICATE KEY UPDATE
        `likes` = `article_counters`.`likes` + VALUES(`likes`);
END;

UNLOCK TABLES;

