-- Counts the rows of bench_hot_comments in bench_hot_articles.comments.

CREATE TRIGGER bench_count_hot_insert AFTER INSERT ON bench_hot_comments BEGIN
    UPDATE bench_hot_articles SET comments = comments + 1
    WHERE id = NEW.article_id;
END;

CREATE TRIGGER bench_count_hot_update AFTER UPDATE ON bench_hot_comments
WHEN OLD.article_id IS NOT NEW.article_id BEGIN
    UPDATE bench_hot_articles SET comments = comments - 1
    WHERE id = OLD.article_id;
    UPDATE bench_hot_articles SET comments = comments + 1
    WHERE id = NEW.article_id;
END;

CREATE TRIGGER bench_count_hot_delete AFTER DELETE ON bench_hot_comments BEGIN
    UPDATE bench_hot_articles SET comments = comments - 1
    WHERE id = OLD.article_id;
END;

-- Without PRAGMA recursive_triggers = ON, a REPLACE runs no DELETE trigger for the row that it replaces. So an INSERT
-- that meets an existing row is refused then.
CREATE TRIGGER bench_count_hot_replace_by_insert BEFORE INSERT ON bench_hot_comments
WHEN (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0
    AND EXISTS (SELECT 1 FROM bench_hot_comments WHERE id = NEW.id) BEGIN
    SELECT RAISE(ABORT, 'run PRAGMA recursive_triggers = ON, so that bench_hot_comments is counted when it replaces a row');
END;

CREATE TRIGGER bench_count_hot_replace_by_update BEFORE UPDATE ON bench_hot_comments
WHEN (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0
    AND NEW.id IS NOT OLD.id
    AND EXISTS (SELECT 1 FROM bench_hot_comments WHERE id = NEW.id) BEGIN
    SELECT RAISE(ABORT, 'run PRAGMA recursive_triggers = ON, so that bench_hot_comments is counted when it replaces a row');
END;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_hot_articles SET comments = counted.comments
FROM (
    SELECT counted.article_id AS id, COUNT(*) AS comments
    FROM bench_hot_comments AS counted
    GROUP BY 1
) AS counted
WHERE bench_hot_articles.id = counted.id
    AND bench_hot_articles.comments = 0;
