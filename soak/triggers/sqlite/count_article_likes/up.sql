-- Counts the rows of article_likes in article_counters.likes, articles.like_count.

CREATE TRIGGER count_article_likes_insert AFTER INSERT ON article_likes BEGIN
    INSERT INTO article_counters (article_id, day, slot, likes)
    VALUES (NEW.article_id, date('now'), 0, 1)
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = likes + 1;
    UPDATE articles SET like_count = like_count + 1
    WHERE id = NEW.article_id;
END;

CREATE TRIGGER count_article_likes_update AFTER UPDATE ON article_likes
WHEN OLD.article_id IS NOT NEW.article_id BEGIN
    INSERT INTO article_counters (article_id, day, slot, likes)
    SELECT OLD.article_id, date('now'), 0, -1
    WHERE EXISTS (SELECT 1 FROM articles WHERE articles.id = OLD.article_id)
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = likes - 1;
    INSERT INTO article_counters (article_id, day, slot, likes)
    VALUES (NEW.article_id, date('now'), 0, 1)
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = likes + 1;
    UPDATE articles SET like_count = like_count - 1
    WHERE id = OLD.article_id;
    UPDATE articles SET like_count = like_count + 1
    WHERE id = NEW.article_id;
END;

CREATE TRIGGER count_article_likes_delete AFTER DELETE ON article_likes BEGIN
    INSERT INTO article_counters (article_id, day, slot, likes)
    SELECT OLD.article_id, date('now'), 0, -1
    WHERE EXISTS (SELECT 1 FROM articles WHERE articles.id = OLD.article_id)
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = likes - 1;
    UPDATE articles SET like_count = like_count - 1
    WHERE id = OLD.article_id;
END;

-- Without PRAGMA recursive_triggers = ON, a REPLACE runs no DELETE trigger for the row that it replaces. So an INSERT
-- that meets an existing row is refused then.
CREATE TRIGGER count_article_likes_replace_by_insert BEFORE INSERT ON article_likes
WHEN (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0
    AND EXISTS (SELECT 1 FROM article_likes WHERE (article_id, user_id) = (NEW.article_id, NEW.user_id)) BEGIN
    SELECT RAISE(ABORT, 'run PRAGMA recursive_triggers = ON, so that article_likes is counted when it replaces a row');
END;

CREATE TRIGGER count_article_likes_replace_by_update BEFORE UPDATE ON article_likes
WHEN (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0
    AND (NEW.article_id, NEW.user_id) IS NOT (OLD.article_id, OLD.user_id)
    AND EXISTS (SELECT 1 FROM article_likes WHERE (article_id, user_id) = (NEW.article_id, NEW.user_id)) BEGIN
    SELECT RAISE(ABORT, 'run PRAGMA recursive_triggers = ON, so that article_likes is counted when it replaces a row');
END;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO article_counters (article_id, day, slot, likes)
SELECT counted.article_id, date('now'), 0, COUNT(*)
FROM article_likes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(likes), 0) FROM article_counters AS kept
    WHERE kept.article_id = counted.article_id
) = 0
ORDER BY 1
ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = likes + excluded.likes;
UPDATE articles SET like_count = counted.like_count
FROM (
    SELECT counted.article_id AS id, COUNT(*) AS like_count
    FROM article_likes AS counted
    GROUP BY 1
) AS counted
WHERE articles.id = counted.id
    AND articles.like_count = 0;
