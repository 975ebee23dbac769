-- Rows are locked in this order, as the program must lock them:
-- article_likes, articles.
-- A trigger keeps the mode in which it is created.
SET @sql_mode_before = @@sql_mode, sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

-- Counts the rows of article_likes in article_counters.likes, articles.like_count.
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then
-- `diesel-counters recount count_article_likes`.
LOCK TABLES article_likes WRITE, article_counters WRITE, articles WRITE,
    article_likes AS counted_article_likes READ, article_counters AS kept_article_counters READ;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO article_counters (article_id, day, slot, likes)
SELECT counted_article_likes.article_id, UTC_DATE(), 0, COUNT(*)
FROM article_likes AS counted_article_likes
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(likes), 0) FROM article_counters AS kept_article_counters
    WHERE kept_article_counters.article_id = counted_article_likes.article_id
) = 0
ORDER BY 1
ON DUPLICATE KEY UPDATE likes = article_counters.likes + VALUES(likes);
UPDATE articles JOIN (
    SELECT counted_article_likes.article_id AS id, COUNT(*) AS like_count
    FROM article_likes AS counted_article_likes
    GROUP BY 1
) AS counted
ON articles.id = counted.id
    AND articles.like_count = 0
SET articles.like_count = counted.like_count;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS count_article_likes_lock_insert;
CREATE TRIGGER count_article_likes_lock_insert BEFORE INSERT ON article_likes FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM articles WHERE id = NEW.article_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS count_article_likes_lock_update;
CREATE TRIGGER count_article_likes_lock_update BEFORE UPDATE ON article_likes FOR EACH ROW
BEGIN
    IF NOT (OLD.article_id <=> NEW.article_id) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM articles WHERE id IN (OLD.article_id, NEW.article_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS count_article_likes_lock_delete;
CREATE TRIGGER count_article_likes_lock_delete BEFORE DELETE ON article_likes FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM articles WHERE id = OLD.article_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS count_article_likes_insert;
CREATE TRIGGER count_article_likes_insert AFTER INSERT ON article_likes FOR EACH ROW
BEGIN
    INSERT INTO article_counters (article_id, day, slot, likes)
    VALUES (NEW.article_id, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
    ON DUPLICATE KEY UPDATE likes = likes + 1;
    UPDATE articles SET like_count = like_count + 1
    WHERE id = NEW.article_id;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS count_article_likes_update;
CREATE TRIGGER count_article_likes_update AFTER UPDATE ON article_likes FOR EACH ROW
BEGIN
    IF NOT (OLD.article_id <=> NEW.article_id)
        AND NOT EXISTS (SELECT 1 FROM article_likes AS same
            WHERE same.article_id = OLD.article_id
                AND same.user_id = OLD.user_id
            LOCK IN SHARE MODE) THEN
        INSERT INTO article_counters (article_id, day, slot, likes)
        VALUES (OLD.article_id, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE likes = likes - 1;
        INSERT INTO article_counters (article_id, day, slot, likes)
        VALUES (NEW.article_id, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE likes = likes + 1;
    END IF;
    IF NOT (OLD.article_id <=> NEW.article_id)
        AND NOT EXISTS (SELECT 1 FROM article_likes AS same
            WHERE same.article_id = OLD.article_id
                AND same.user_id = OLD.user_id
            LOCK IN SHARE MODE) THEN
        UPDATE articles SET like_count = like_count - 1
        WHERE id = OLD.article_id;
        UPDATE articles SET like_count = like_count + 1
        WHERE id = NEW.article_id;
    END IF;
END;

DROP TRIGGER IF EXISTS count_article_likes_delete;
CREATE TRIGGER count_article_likes_delete AFTER DELETE ON article_likes FOR EACH ROW
BEGIN
    INSERT INTO article_counters (article_id, day, slot, likes)
    VALUES (OLD.article_id, UTC_DATE(), 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
    ON DUPLICATE KEY UPDATE likes = likes - 1;
    UPDATE articles SET like_count = like_count - 1
    WHERE id = OLD.article_id;
END;

UNLOCK TABLES;
SET sql_mode = @sql_mode_before;
