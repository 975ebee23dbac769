-- Rows are locked in this order, as the program must lock them:
-- bench_hot_comments, bench_hot_articles.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- Rows that a policy would hide are an error.
SET LOCAL row_security = off;
-- The functions run with the rights of whoever writes the rows. They find their tables in the schemas of this session,
-- and never in temporary tables.
SELECT set_config('search_path',
    (SELECT string_agg(quote_ident(name), ', ') FROM unnest(current_schemas(false)) AS name) || ', pg_temp', true);

-- Until this commits, writers of these tables wait.
LOCK TABLE bench_hot_articles, bench_hot_comments IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_hot_comments in bench_hot_articles.comments.
CREATE FUNCTION bench_count_hot_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT article_id AS id, COUNT(*) AS comments
        FROM new_rows
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_hot_articles SET comments = bench_hot_articles.comments + entity.comments
        WHERE bench_hot_articles.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_hot_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(comments) AS comments
        FROM (
            SELECT article_id AS id, -1 AS comments
            FROM old_rows
            UNION ALL
            SELECT article_id AS id, 1 AS comments
            FROM new_rows
        ) AS changes
        GROUP BY 1
        HAVING SUM(comments) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_hot_articles SET comments = bench_hot_articles.comments + entity.comments
        WHERE bench_hot_articles.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_hot_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT article_id AS id, -COUNT(*) AS comments
        FROM old_rows
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_hot_articles SET comments = bench_hot_articles.comments + entity.comments
        WHERE bench_hot_articles.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_hot_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT article_id AS id, -COUNT(*) AS comments
        FROM bench_hot_comments
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_hot_articles SET comments = bench_hot_articles.comments + entity.comments
        WHERE bench_hot_articles.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_hot_insert AFTER INSERT ON bench_hot_comments REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_hot_insert();
CREATE TRIGGER bench_count_hot_update AFTER UPDATE ON bench_hot_comments
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_hot_update();
CREATE TRIGGER bench_count_hot_delete AFTER DELETE ON bench_hot_comments REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_hot_delete();
CREATE TRIGGER bench_count_hot_truncate BEFORE TRUNCATE ON bench_hot_comments
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_hot_truncate();

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

