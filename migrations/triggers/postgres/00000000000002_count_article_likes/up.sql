SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- Rows that a policy would hide are an error.
SET LOCAL row_security = off;
-- The functions run with the rights of whoever writes the rows. They find their tables in the schemas of this session,
-- and never in temporary tables.
SELECT set_config('search_path',
    (SELECT string_agg(quote_ident(name), ', ') FROM unnest(current_schemas(false)) AS name) || ', pg_temp', true);

-- The slot of this session. Each session has a number: the lowest one that no other session has.
CREATE OR REPLACE FUNCTION diesel_counters_slot(slots INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $$
DECLARE
    number INTEGER := NULLIF(current_setting('diesel_counters.number', true), '');
BEGIN
    IF number IS NULL THEN
        SELECT free INTO number FROM generate_series(0, 999) AS free
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), free) LIMIT 1;
        number := COALESCE(number, pg_backend_pid());
        PERFORM set_config('diesel_counters.number', number::TEXT, false);
    END IF;
    RETURN 1 + number % slots;
END $$;

-- Until this commits, writers of these tables wait.
LOCK TABLE article_likes IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of article_likes in article_counters.likes.
CREATE FUNCTION count_article_likes_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO article_counters AS counters (article_id, day, slot, likes)
    SELECT article_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        COUNT(*)
    FROM new_rows
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = counters.likes + excluded.likes;
    RETURN NULL;
END $$;

CREATE FUNCTION count_article_likes_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO article_counters AS counters (article_id, day, slot, likes)
    SELECT article_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        SUM(likes)
    FROM (
        SELECT article_id, -1 AS likes
        FROM old_rows
        UNION ALL
        SELECT article_id, 1 AS likes
        FROM new_rows
    ) AS changes
    GROUP BY 1
    -- Where articles are being deleted, their counts go with them.
    HAVING SUM(likes) <> 0
        AND EXISTS (SELECT FROM articles WHERE articles.id = changes.article_id)
    ORDER BY 1
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = counters.likes + excluded.likes;
    RETURN NULL;
END $$;

CREATE FUNCTION count_article_likes_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO article_counters AS counters (article_id, day, slot, likes)
    SELECT article_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        -COUNT(*)
    FROM old_rows AS gone
    GROUP BY 1
    -- Where articles are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM articles WHERE articles.id = gone.article_id)
    ORDER BY 1
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = counters.likes + excluded.likes;
    RETURN NULL;
END $$;

CREATE FUNCTION count_article_likes_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO article_counters AS counters (article_id, day, slot, likes)
    SELECT article_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        -COUNT(*)
    FROM article_likes
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = counters.likes + excluded.likes;
    RETURN NULL;
END $$;

CREATE TRIGGER count_article_likes_insert AFTER INSERT ON article_likes REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_article_likes_insert();
CREATE TRIGGER count_article_likes_update AFTER UPDATE ON article_likes
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_article_likes_update();
CREATE TRIGGER count_article_likes_delete AFTER DELETE ON article_likes REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_article_likes_delete();
CREATE TRIGGER count_article_likes_truncate BEFORE TRUNCATE ON article_likes
    FOR EACH STATEMENT EXECUTE FUNCTION count_article_likes_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO article_counters AS counters (article_id, day, slot, likes)
SELECT counted.article_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), 0, COUNT(*)
FROM article_likes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(likes), 0) FROM article_counters AS kept
    WHERE kept.article_id = counted.article_id
) = 0
ORDER BY 1
ON CONFLICT (article_id, day, slot) DO UPDATE SET likes = counters.likes + excluded.likes;

