-- A trigger keeps the mode in which it is created.
SET @sql_mode_before = @@sql_mode, sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

-- Counts the rows of article_likes in article_counters.likes.
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then
-- `diesel-counters recount count_article_likes`.
LOCK TABLES article_likes WRITE, article_counters WRITE, article_likes AS counted READ,
    article_counters AS kept READ;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO article_counters (article_id, day, slot, likes)
SELECT counted.article_id, counted.created_on, 0, COUNT(*)
FROM article_likes AS counted
GROUP BY 1, 2
HAVING (
    SELECT COALESCE(SUM(likes), 0) FROM article_counters AS kept
    WHERE kept.article_id = counted.article_id
) = 0
ORDER BY 1, 2
ON DUPLICATE KEY UPDATE likes = article_counters.likes + VALUES(likes);

DROP TRIGGER IF EXISTS count_article_likes_insert;
CREATE TRIGGER count_article_likes_insert AFTER INSERT ON article_likes FOR EACH ROW
BEGIN
    INSERT INTO article_counters (article_id, day, slot, likes)
    VALUES (NEW.article_id, NEW.created_on, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, 1)
    ON DUPLICATE KEY UPDATE likes = likes + 1;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS count_article_likes_update;
CREATE TRIGGER count_article_likes_update AFTER UPDATE ON article_likes FOR EACH ROW
BEGIN
    IF NOT (OLD.article_id <=> NEW.article_id AND OLD.created_on <=> NEW.created_on)
        AND NOT EXISTS (SELECT 1 FROM article_likes AS same
            WHERE same.article_id = OLD.article_id
                AND same.visitor = OLD.visitor
                AND same.created_on <=> OLD.created_on
            LOCK IN SHARE MODE) THEN
        INSERT INTO article_counters (article_id, day, slot, likes)
        VALUES (OLD.article_id, OLD.created_on, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, -1)
        ON DUPLICATE KEY UPDATE likes = likes - 1;
        INSERT INTO article_counters (article_id, day, slot, likes)
        VALUES (NEW.article_id, NEW.created_on, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, 1)
        ON DUPLICATE KEY UPDATE likes = likes + 1;
    END IF;
END;

DROP TRIGGER IF EXISTS count_article_likes_delete;
CREATE TRIGGER count_article_likes_delete AFTER DELETE ON article_likes FOR EACH ROW
BEGIN
    INSERT INTO article_counters (article_id, day, slot, likes)
    VALUES (OLD.article_id, OLD.created_on, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 16, -1)
    ON DUPLICATE KEY UPDATE likes = likes - 1;
END;

UNLOCK TABLES;
SET sql_mode = @sql_mode_before;
