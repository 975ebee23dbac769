-- Rows are locked in this order, as the program must lock them:
-- bench_forum_post_votes, bench_forum_comment_votes, bench_forum_comments, bench_forum_posts,
-- bench_forum_communities, bench_forum_people, bench_forum_site.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- Rows that a policy would hide are an error.
SET LOCAL row_security = off;
-- The functions run with the rights of whoever writes the rows. They find their tables in the schemas of this session,
-- and never in temporary tables.
SELECT set_config('search_path',
    (SELECT string_agg(quote_ident(name), ', ') FROM unnest(current_schemas(false)) AS name) || ', pg_temp', true);

-- Until this commits, writers of these tables wait.
LOCK TABLE bench_forum_posts, bench_forum_comments, bench_forum_people, bench_forum_site,
    bench_forum_communities, bench_forum_post_votes, bench_forum_comment_votes IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_forum_post_votes in
-- bench_forum_posts.upvotes, bench_forum_posts.downvotes, bench_forum_posts.score.
CREATE FUNCTION bench_count_post_votes_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT post_id AS id, SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes,
            SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes,
            SUM(COALESCE(CAST(vote AS BIGINT), 0)) AS score
        FROM new_rows
        GROUP BY 1
        HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET upvotes = bench_forum_posts.upvotes + entity.upvotes,
            downvotes = bench_forum_posts.downvotes + entity.downvotes,
            score = bench_forum_posts.score + entity.score
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_post_votes_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(upvotes) AS upvotes, SUM(downvotes) AS downvotes, SUM(score) AS score
        FROM (
            SELECT post_id AS id, -COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
                -COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
                -COALESCE(CAST(vote AS BIGINT), 0) AS score
            FROM old_rows
            UNION ALL
            SELECT post_id AS id, COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
                COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
                COALESCE(CAST(vote AS BIGINT), 0) AS score
            FROM new_rows
        ) AS changes
        GROUP BY 1
        HAVING SUM(upvotes) <> 0 OR SUM(downvotes) <> 0 OR SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET upvotes = bench_forum_posts.upvotes + entity.upvotes,
            downvotes = bench_forum_posts.downvotes + entity.downvotes,
            score = bench_forum_posts.score + entity.score
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_post_votes_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT post_id AS id, -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes,
            -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes,
            -SUM(COALESCE(CAST(vote AS BIGINT), 0)) AS score
        FROM old_rows
        GROUP BY 1
        HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET upvotes = bench_forum_posts.upvotes + entity.upvotes,
            downvotes = bench_forum_posts.downvotes + entity.downvotes,
            score = bench_forum_posts.score + entity.score
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_post_votes_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT post_id AS id, -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes,
            -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes,
            -SUM(COALESCE(CAST(vote AS BIGINT), 0)) AS score
        FROM bench_forum_post_votes
        GROUP BY 1
        HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET upvotes = bench_forum_posts.upvotes + entity.upvotes,
            downvotes = bench_forum_posts.downvotes + entity.downvotes,
            score = bench_forum_posts.score + entity.score
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_post_votes_insert AFTER INSERT ON bench_forum_post_votes REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_post_votes_insert();
CREATE TRIGGER bench_count_post_votes_update AFTER UPDATE ON bench_forum_post_votes
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_post_votes_update();
CREATE TRIGGER bench_count_post_votes_delete AFTER DELETE ON bench_forum_post_votes REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_post_votes_delete();
CREATE TRIGGER bench_count_post_votes_truncate BEFORE TRUNCATE ON bench_forum_post_votes
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_post_votes_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_posts SET upvotes = bench_forum_posts.upvotes + counted.upvotes
FROM (
    SELECT counted.post_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes
    FROM bench_forum_post_votes AS counted
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
) AS counted
WHERE bench_forum_posts.id = counted.id
    AND bench_forum_posts.upvotes = 0;
UPDATE bench_forum_posts SET downvotes = bench_forum_posts.downvotes + counted.downvotes
FROM (
    SELECT counted.post_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes
    FROM bench_forum_post_votes AS counted
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
) AS counted
WHERE bench_forum_posts.id = counted.id
    AND bench_forum_posts.downvotes = 0;
UPDATE bench_forum_posts SET score = bench_forum_posts.score + counted.score
FROM (
    SELECT counted.post_id AS id, SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) AS score
    FROM bench_forum_post_votes AS counted
    GROUP BY 1
    HAVING SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) <> 0
) AS counted
WHERE bench_forum_posts.id = counted.id
    AND bench_forum_posts.score = 0;


-- Counts the rows of bench_forum_comment_votes in
-- bench_forum_comments.upvotes, bench_forum_comments.downvotes, bench_forum_comments.score.
CREATE FUNCTION bench_count_comment_votes_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT comment_id AS id,
            SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes,
            SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes,
            SUM(COALESCE(CAST(vote AS BIGINT), 0)) AS score
        FROM new_rows
        GROUP BY 1
        HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_comments SET upvotes = bench_forum_comments.upvotes + entity.upvotes,
            downvotes = bench_forum_comments.downvotes + entity.downvotes,
            score = bench_forum_comments.score + entity.score
        WHERE bench_forum_comments.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comment_votes_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(upvotes) AS upvotes, SUM(downvotes) AS downvotes, SUM(score) AS score
        FROM (
            SELECT comment_id AS id, -COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
                -COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
                -COALESCE(CAST(vote AS BIGINT), 0) AS score
            FROM old_rows
            UNION ALL
            SELECT comment_id AS id, COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
                COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
                COALESCE(CAST(vote AS BIGINT), 0) AS score
            FROM new_rows
        ) AS changes
        GROUP BY 1
        HAVING SUM(upvotes) <> 0 OR SUM(downvotes) <> 0 OR SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_comments SET upvotes = bench_forum_comments.upvotes + entity.upvotes,
            downvotes = bench_forum_comments.downvotes + entity.downvotes,
            score = bench_forum_comments.score + entity.score
        WHERE bench_forum_comments.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comment_votes_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT comment_id AS id,
            -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes,
            -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes,
            -SUM(COALESCE(CAST(vote AS BIGINT), 0)) AS score
        FROM old_rows
        GROUP BY 1
        HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_comments SET upvotes = bench_forum_comments.upvotes + entity.upvotes,
            downvotes = bench_forum_comments.downvotes + entity.downvotes,
            score = bench_forum_comments.score + entity.score
        WHERE bench_forum_comments.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comment_votes_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT comment_id AS id,
            -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes,
            -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes,
            -SUM(COALESCE(CAST(vote AS BIGINT), 0)) AS score
        FROM bench_forum_comment_votes
        GROUP BY 1
        HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
            OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_comments SET upvotes = bench_forum_comments.upvotes + entity.upvotes,
            downvotes = bench_forum_comments.downvotes + entity.downvotes,
            score = bench_forum_comments.score + entity.score
        WHERE bench_forum_comments.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_comment_votes_insert AFTER INSERT ON bench_forum_comment_votes
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comment_votes_insert();
CREATE TRIGGER bench_count_comment_votes_update AFTER UPDATE ON bench_forum_comment_votes
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comment_votes_update();
CREATE TRIGGER bench_count_comment_votes_delete AFTER DELETE ON bench_forum_comment_votes
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comment_votes_delete();
CREATE TRIGGER bench_count_comment_votes_truncate BEFORE TRUNCATE ON bench_forum_comment_votes
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comment_votes_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_comments SET upvotes = bench_forum_comments.upvotes + counted.upvotes
FROM (
    SELECT counted.comment_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS upvotes
    FROM bench_forum_comment_votes AS counted
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
) AS counted
WHERE bench_forum_comments.id = counted.id
    AND bench_forum_comments.upvotes = 0;
UPDATE bench_forum_comments SET downvotes = bench_forum_comments.downvotes + counted.downvotes
FROM (
    SELECT counted.comment_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) AS downvotes
    FROM bench_forum_comment_votes AS counted
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
) AS counted
WHERE bench_forum_comments.id = counted.id
    AND bench_forum_comments.downvotes = 0;
UPDATE bench_forum_comments SET score = bench_forum_comments.score + counted.score
FROM (
    SELECT counted.comment_id AS id, SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) AS score
    FROM bench_forum_comment_votes AS counted
    GROUP BY 1
    HAVING SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) <> 0
) AS counted
WHERE bench_forum_comments.id = counted.id
    AND bench_forum_comments.score = 0;


-- Counts the rows of bench_forum_comments in bench_forum_posts.comments, bench_forum_people.comment_count.
CREATE FUNCTION bench_count_comments_by_post_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT post_id AS id, COUNT(*) AS comments
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET comments = bench_forum_posts.comments + entity.comments
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, COUNT(*) AS comment_count
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_count = bench_forum_people.comment_count + entity.comment_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_post_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(comments) AS comments
        FROM (
            SELECT post_id AS id, -1 AS comments
            FROM old_rows
            WHERE (NOT deleted AND NOT removed)
            UNION ALL
            SELECT post_id AS id, 1 AS comments
            FROM new_rows
            WHERE (NOT deleted AND NOT removed)
        ) AS changes
        GROUP BY 1
        HAVING SUM(comments) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET comments = bench_forum_posts.comments + entity.comments
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(comment_count) AS comment_count
        FROM (
            SELECT creator_id AS id, -1 AS comment_count
            FROM old_rows
            WHERE (NOT deleted AND NOT removed)
            UNION ALL
            SELECT creator_id AS id, 1 AS comment_count
            FROM new_rows
            WHERE (NOT deleted AND NOT removed)
        ) AS changes
        GROUP BY 1
        HAVING SUM(comment_count) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_count = bench_forum_people.comment_count + entity.comment_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_post_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT post_id AS id, -COUNT(*) AS comments
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET comments = bench_forum_posts.comments + entity.comments
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, -COUNT(*) AS comment_count
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_count = bench_forum_people.comment_count + entity.comment_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_post_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT post_id AS id, -COUNT(*) AS comments
        FROM bench_forum_comments
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_posts SET comments = bench_forum_posts.comments + entity.comments
        WHERE bench_forum_posts.id = entity.id;
    END LOOP;
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, -COUNT(*) AS comment_count
        FROM bench_forum_comments
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_count = bench_forum_people.comment_count + entity.comment_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_comments_by_post_insert AFTER INSERT ON bench_forum_comments
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_post_insert();
CREATE TRIGGER bench_count_comments_by_post_update AFTER UPDATE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_post_update();
CREATE TRIGGER bench_count_comments_by_post_delete AFTER DELETE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_post_delete();
CREATE TRIGGER bench_count_comments_by_post_truncate BEFORE TRUNCATE ON bench_forum_comments
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_post_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_posts SET comments = counted.comments
FROM (
    SELECT counted.post_id AS id, COUNT(*) AS comments
    FROM bench_forum_comments AS counted
    WHERE (NOT counted.deleted AND NOT counted.removed)
    GROUP BY 1
) AS counted
WHERE bench_forum_posts.id = counted.id
    AND bench_forum_posts.comments = 0;
UPDATE bench_forum_people SET comment_count = counted.comment_count
FROM (
    SELECT counted.creator_id AS id, COUNT(*) AS comment_count
    FROM bench_forum_comments AS counted
    WHERE (NOT counted.deleted AND NOT counted.removed)
    GROUP BY 1
) AS counted
WHERE bench_forum_people.id = counted.id
    AND bench_forum_people.comment_count = 0;


-- Counts the rows of bench_forum_comments in bench_forum_people.comment_score.
CREATE FUNCTION bench_count_comments_by_score_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, SUM(score) AS comment_score
        FROM new_rows
        GROUP BY 1
        HAVING SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_score = bench_forum_people.comment_score + entity.comment_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_score_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(comment_score) AS comment_score
        FROM (
            SELECT creator_id AS id, -score AS comment_score
            FROM old_rows
            UNION ALL
            SELECT creator_id AS id, score AS comment_score
            FROM new_rows
        ) AS changes
        GROUP BY 1
        HAVING SUM(comment_score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_score = bench_forum_people.comment_score + entity.comment_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_score_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, -SUM(score) AS comment_score
        FROM old_rows
        GROUP BY 1
        HAVING SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_score = bench_forum_people.comment_score + entity.comment_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_score_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT creator_id AS id, -SUM(score) AS comment_score
        FROM bench_forum_comments
        GROUP BY 1
        HAVING SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET comment_score = bench_forum_people.comment_score + entity.comment_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_comments_by_score_insert AFTER INSERT ON bench_forum_comments
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_score_insert();
CREATE TRIGGER bench_count_comments_by_score_update AFTER UPDATE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_score_update();
CREATE TRIGGER bench_count_comments_by_score_delete AFTER DELETE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_score_delete();
CREATE TRIGGER bench_count_comments_by_score_truncate BEFORE TRUNCATE ON bench_forum_comments
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_score_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_people SET comment_score = bench_forum_people.comment_score + counted.comment_score
FROM (
    SELECT counted.creator_id AS id, SUM(counted.score) AS comment_score
    FROM bench_forum_comments AS counted
    GROUP BY 1
    HAVING SUM(counted.score) <> 0
) AS counted
WHERE bench_forum_people.id = counted.id
    AND bench_forum_people.comment_score = 0;


-- Counts the rows of bench_forum_comments in bench_forum_site.comments.
CREATE FUNCTION bench_count_comments_by_site_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT COUNT(*) AS comments
        FROM new_rows
        WHERE (local AND NOT deleted AND NOT removed)
        HAVING COUNT(*) <> 0
    LOOP
        UPDATE bench_forum_site SET comments = bench_forum_site.comments + entity.comments
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_site_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT SUM(comments) AS comments
        FROM (
            SELECT -1 AS comments
            FROM old_rows
            WHERE (local AND NOT deleted AND NOT removed)
            UNION ALL
            SELECT 1 AS comments
            FROM new_rows
            WHERE (local AND NOT deleted AND NOT removed)
        ) AS changes
        HAVING SUM(comments) <> 0
    LOOP
        UPDATE bench_forum_site SET comments = bench_forum_site.comments + entity.comments
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_site_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT -COUNT(*) AS comments
        FROM old_rows
        WHERE (local AND NOT deleted AND NOT removed)
        HAVING COUNT(*) <> 0
    LOOP
        UPDATE bench_forum_site SET comments = bench_forum_site.comments + entity.comments
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_by_site_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT -COUNT(*) AS comments
        FROM bench_forum_comments
        WHERE (local AND NOT deleted AND NOT removed)
        HAVING COUNT(*) <> 0
    LOOP
        UPDATE bench_forum_site SET comments = bench_forum_site.comments + entity.comments
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_comments_by_site_insert AFTER INSERT ON bench_forum_comments
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_site_insert();
CREATE TRIGGER bench_count_comments_by_site_update AFTER UPDATE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_site_update();
CREATE TRIGGER bench_count_comments_by_site_delete AFTER DELETE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_site_delete();
CREATE TRIGGER bench_count_comments_by_site_truncate BEFORE TRUNCATE ON bench_forum_comments
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_by_site_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_site SET comments = counted.comments
FROM (
    SELECT COUNT(*) AS comments
    FROM bench_forum_comments AS counted
    WHERE (counted.local AND NOT counted.deleted AND NOT counted.removed)
    HAVING COUNT(*) <> 0
) AS counted
WHERE 1 = 1
    AND bench_forum_site.comments = 0;


-- Counts the rows of bench_forum_posts in bench_forum_communities.posts.
CREATE FUNCTION bench_count_posts_by_community_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT community_id AS id, COUNT(*) AS posts
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET posts = bench_forum_communities.posts + entity.posts
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_community_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(posts) AS posts
        FROM (
            SELECT community_id AS id, -1 AS posts
            FROM old_rows
            WHERE (NOT deleted AND NOT removed)
            UNION ALL
            SELECT community_id AS id, 1 AS posts
            FROM new_rows
            WHERE (NOT deleted AND NOT removed)
        ) AS changes
        GROUP BY 1
        HAVING SUM(posts) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET posts = bench_forum_communities.posts + entity.posts
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_community_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT community_id AS id, -COUNT(*) AS posts
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET posts = bench_forum_communities.posts + entity.posts
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_community_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT community_id AS id, -COUNT(*) AS posts
        FROM bench_forum_posts
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET posts = bench_forum_communities.posts + entity.posts
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_posts_by_community_insert AFTER INSERT ON bench_forum_posts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_community_insert();
CREATE TRIGGER bench_count_posts_by_community_update AFTER UPDATE ON bench_forum_posts
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_community_update();
CREATE TRIGGER bench_count_posts_by_community_delete AFTER DELETE ON bench_forum_posts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_community_delete();
CREATE TRIGGER bench_count_posts_by_community_truncate BEFORE TRUNCATE ON bench_forum_posts
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_community_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_communities SET posts = counted.posts
FROM (
    SELECT counted.community_id AS id, COUNT(*) AS posts
    FROM bench_forum_posts AS counted
    WHERE (NOT counted.deleted AND NOT counted.removed)
    GROUP BY 1
) AS counted
WHERE bench_forum_communities.id = counted.id
    AND bench_forum_communities.local
    AND bench_forum_communities.posts = 0;


-- Counts the rows of bench_forum_posts in bench_forum_communities.comments.
CREATE FUNCTION bench_count_posts_by_comments_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT community_id AS id, SUM(comments) AS comments
        FROM new_rows
        GROUP BY 1
        HAVING SUM(comments) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET comments = bench_forum_communities.comments + entity.comments
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_comments_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(comments) AS comments
        FROM (
            SELECT community_id AS id, -comments AS comments
            FROM old_rows
            UNION ALL
            SELECT community_id AS id, comments
            FROM new_rows
        ) AS changes
        GROUP BY 1
        HAVING SUM(comments) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET comments = bench_forum_communities.comments + entity.comments
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_comments_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT community_id AS id, -SUM(comments) AS comments
        FROM old_rows
        GROUP BY 1
        HAVING SUM(comments) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET comments = bench_forum_communities.comments + entity.comments
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_comments_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT community_id AS id, -SUM(comments) AS comments
        FROM bench_forum_posts
        GROUP BY 1
        HAVING SUM(comments) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_communities SET comments = bench_forum_communities.comments + entity.comments
        WHERE bench_forum_communities.id = entity.id
        AND bench_forum_communities.local;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_posts_by_comments_insert AFTER INSERT ON bench_forum_posts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_comments_insert();
CREATE TRIGGER bench_count_posts_by_comments_update AFTER UPDATE ON bench_forum_posts
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_comments_update();
CREATE TRIGGER bench_count_posts_by_comments_delete AFTER DELETE ON bench_forum_posts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_comments_delete();
CREATE TRIGGER bench_count_posts_by_comments_truncate BEFORE TRUNCATE ON bench_forum_posts
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_comments_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_communities SET comments = bench_forum_communities.comments + counted.comments
FROM (
    SELECT counted.community_id AS id, SUM(counted.comments) AS comments
    FROM bench_forum_posts AS counted
    GROUP BY 1
    HAVING SUM(counted.comments) <> 0
) AS counted
WHERE bench_forum_communities.id = counted.id
    AND bench_forum_communities.local
    AND bench_forum_communities.comments = 0;


-- Counts the rows of bench_forum_posts in bench_forum_people.post_count.
CREATE FUNCTION bench_count_posts_by_person_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, COUNT(*) AS post_count
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_count = bench_forum_people.post_count + entity.post_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_person_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(post_count) AS post_count
        FROM (
            SELECT creator_id AS id, -1 AS post_count
            FROM old_rows
            WHERE (NOT deleted AND NOT removed)
            UNION ALL
            SELECT creator_id AS id, 1 AS post_count
            FROM new_rows
            WHERE (NOT deleted AND NOT removed)
        ) AS changes
        GROUP BY 1
        HAVING SUM(post_count) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_count = bench_forum_people.post_count + entity.post_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_person_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, -COUNT(*) AS post_count
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_count = bench_forum_people.post_count + entity.post_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_person_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT creator_id AS id, -COUNT(*) AS post_count
        FROM bench_forum_posts
        WHERE (NOT deleted AND NOT removed)
        GROUP BY 1
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_count = bench_forum_people.post_count + entity.post_count
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_posts_by_person_insert AFTER INSERT ON bench_forum_posts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_person_insert();
CREATE TRIGGER bench_count_posts_by_person_update AFTER UPDATE ON bench_forum_posts
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_person_update();
CREATE TRIGGER bench_count_posts_by_person_delete AFTER DELETE ON bench_forum_posts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_person_delete();
CREATE TRIGGER bench_count_posts_by_person_truncate BEFORE TRUNCATE ON bench_forum_posts
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_person_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_people SET post_count = counted.post_count
FROM (
    SELECT counted.creator_id AS id, COUNT(*) AS post_count
    FROM bench_forum_posts AS counted
    WHERE (NOT counted.deleted AND NOT counted.removed)
    GROUP BY 1
) AS counted
WHERE bench_forum_people.id = counted.id
    AND bench_forum_people.post_count = 0;


-- Counts the rows of bench_forum_posts in bench_forum_people.post_score.
CREATE FUNCTION bench_count_posts_by_score_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, SUM(score) AS post_score
        FROM new_rows
        GROUP BY 1
        HAVING SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_score = bench_forum_people.post_score + entity.post_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_score_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT id, SUM(post_score) AS post_score
        FROM (
            SELECT creator_id AS id, -score AS post_score
            FROM old_rows
            UNION ALL
            SELECT creator_id AS id, score AS post_score
            FROM new_rows
        ) AS changes
        GROUP BY 1
        HAVING SUM(post_score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_score = bench_forum_people.post_score + entity.post_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_score_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT creator_id AS id, -SUM(score) AS post_score
        FROM old_rows
        GROUP BY 1
        HAVING SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_score = bench_forum_people.post_score + entity.post_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_score_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT creator_id AS id, -SUM(score) AS post_score
        FROM bench_forum_posts
        GROUP BY 1
        HAVING SUM(score) <> 0
        ORDER BY 1
    LOOP
        UPDATE bench_forum_people SET post_score = bench_forum_people.post_score + entity.post_score
        WHERE bench_forum_people.id = entity.id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_posts_by_score_insert AFTER INSERT ON bench_forum_posts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_score_insert();
CREATE TRIGGER bench_count_posts_by_score_update AFTER UPDATE ON bench_forum_posts
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_score_update();
CREATE TRIGGER bench_count_posts_by_score_delete AFTER DELETE ON bench_forum_posts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_score_delete();
CREATE TRIGGER bench_count_posts_by_score_truncate BEFORE TRUNCATE ON bench_forum_posts
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_score_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_people SET post_score = bench_forum_people.post_score + counted.post_score
FROM (
    SELECT counted.creator_id AS id, SUM(counted.score) AS post_score
    FROM bench_forum_posts AS counted
    GROUP BY 1
    HAVING SUM(counted.score) <> 0
) AS counted
WHERE bench_forum_people.id = counted.id
    AND bench_forum_people.post_score = 0;


-- Counts the rows of bench_forum_posts in bench_forum_site.posts.
CREATE FUNCTION bench_count_posts_by_site_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT COUNT(*) AS posts
        FROM new_rows
        WHERE (local AND NOT deleted AND NOT removed)
        HAVING COUNT(*) <> 0
    LOOP
        UPDATE bench_forum_site SET posts = bench_forum_site.posts + entity.posts
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_site_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT SUM(posts) AS posts
        FROM (
            SELECT -1 AS posts
            FROM old_rows
            WHERE (local AND NOT deleted AND NOT removed)
            UNION ALL
            SELECT 1 AS posts
            FROM new_rows
            WHERE (local AND NOT deleted AND NOT removed)
        ) AS changes
        HAVING SUM(posts) <> 0
    LOOP
        UPDATE bench_forum_site SET posts = bench_forum_site.posts + entity.posts
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_site_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
DECLARE
    entity RECORD;
BEGIN
    -- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
    FOR entity IN
        SELECT -COUNT(*) AS posts
        FROM old_rows
        WHERE (local AND NOT deleted AND NOT removed)
        HAVING COUNT(*) <> 0
    LOOP
        UPDATE bench_forum_site SET posts = bench_forum_site.posts + entity.posts
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_by_site_truncate() RETURNS trigger LANGUAGE plpgsql
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
        SELECT -COUNT(*) AS posts
        FROM bench_forum_posts
        WHERE (local AND NOT deleted AND NOT removed)
        HAVING COUNT(*) <> 0
    LOOP
        UPDATE bench_forum_site SET posts = bench_forum_site.posts + entity.posts
        WHERE 1 = 1;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_posts_by_site_insert AFTER INSERT ON bench_forum_posts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_site_insert();
CREATE TRIGGER bench_count_posts_by_site_update AFTER UPDATE ON bench_forum_posts
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_site_update();
CREATE TRIGGER bench_count_posts_by_site_delete AFTER DELETE ON bench_forum_posts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_site_delete();
CREATE TRIGGER bench_count_posts_by_site_truncate BEFORE TRUNCATE ON bench_forum_posts
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_by_site_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_site SET posts = counted.posts
FROM (
    SELECT COUNT(*) AS posts
    FROM bench_forum_posts AS counted
    WHERE (counted.local AND NOT counted.deleted AND NOT counted.removed)
    HAVING COUNT(*) <> 0
) AS counted
WHERE 1 = 1
    AND bench_forum_site.posts = 0;

