-- Rows are locked in this order, as the program must lock them:
-- bench_hot_comments, bench_hot_articles.
-- A trigger keeps the mode in which it is created.
SET @sql_mode_before = @@sql_mode, sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

-- Counts the rows of bench_hot_comments in bench_hot_articles.comments.
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then
-- `diesel-counters recount bench_count_hot`.
LOCK TABLES bench_hot_comments WRITE, bench_hot_articles WRITE, bench_hot_comments AS counted READ;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_hot_articles JOIN (
    SELECT counted.article_id AS id, COUNT(*) AS comments
    FROM bench_hot_comments AS counted
    GROUP BY 1
) AS counted
ON bench_hot_articles.id = counted.id
    AND bench_hot_articles.comments = 0
SET bench_hot_articles.comments = counted.comments;

DROP TRIGGER IF EXISTS bench_count_hot_insert;
CREATE TRIGGER bench_count_hot_insert AFTER INSERT ON bench_hot_comments FOR EACH ROW
BEGIN
    UPDATE bench_hot_articles SET comments = comments + 1
    WHERE id = NEW.article_id;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_hot_update;
CREATE TRIGGER bench_count_hot_update AFTER UPDATE ON bench_hot_comments FOR EACH ROW
BEGIN
    IF NOT (OLD.article_id <=> NEW.article_id)
        AND NOT EXISTS (SELECT 1 FROM bench_hot_comments AS same
            WHERE same.id = OLD.id
                AND same.article_id <=> OLD.article_id
            LOCK IN SHARE MODE) THEN
        UPDATE bench_hot_articles SET comments = comments - 1
        WHERE id = OLD.article_id;
        UPDATE bench_hot_articles SET comments = comments + 1
        WHERE id = NEW.article_id;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_hot_delete;
CREATE TRIGGER bench_count_hot_delete AFTER DELETE ON bench_hot_comments FOR EACH ROW
BEGIN
    UPDATE bench_hot_articles SET comments = comments - 1
    WHERE id = OLD.article_id;
END;

UNLOCK TABLES;
SET sql_mode = @sql_mode_before;
