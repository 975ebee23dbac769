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
LOCK TABLE bench_forum_comment_votes, bench_forum_post_votes, bench_forum_comments, bench_forum_posts IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of bench_forum_comment_votes in
-- bench_forum_comment_counters.upvotes, bench_forum_comment_counters.downvotes,
-- bench_forum_comment_counters.score, bench_forum_person_counters.comment_score.
CREATE FUNCTION bench_count_comment_votes_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_comment_counters AS counters (comment_id, day, slot, upvotes, downvotes, score)
    SELECT comment_id, DATE '1970-01-01', diesel_counters_slot(32),
        SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM new_rows
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
    ORDER BY 1
    ON CONFLICT (comment_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_score)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM new_rows
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = new_rows.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_score = counters.comment_score + excluded.comment_score;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comment_votes_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_comment_counters AS counters (comment_id, day, slot, upvotes, downvotes, score)
    SELECT comment_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(upvotes), SUM(downvotes), SUM(score)
    FROM (
        SELECT comment_id, -COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
            -COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
            -COALESCE(CAST(vote AS BIGINT), 0) AS score
        FROM old_rows
        UNION ALL
        SELECT comment_id, COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
            COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
            COALESCE(CAST(vote AS BIGINT), 0) AS score
        FROM new_rows
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_comments are being deleted, their counts go with them.
    HAVING (SUM(upvotes) <> 0 OR SUM(downvotes) <> 0 OR SUM(score) <> 0)
        AND EXISTS (SELECT FROM bench_forum_comments WHERE bench_forum_comments.id = changes.comment_id)
    ORDER BY 1
    ON CONFLICT (comment_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_score)
    SELECT person_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(comment_score)
    FROM (
        SELECT creator_id AS person_id, -COALESCE(CAST(vote AS BIGINT), 0) AS comment_score
        FROM old_rows
        UNION ALL
        SELECT creator_id AS person_id, COALESCE(CAST(vote AS BIGINT), 0) AS comment_score
        FROM new_rows
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(comment_score) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = changes.person_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_score = counters.comment_score + excluded.comment_score;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comment_votes_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_comment_counters AS counters (comment_id, day, slot, upvotes, downvotes, score)
    SELECT comment_id, DATE '1970-01-01', diesel_counters_slot(32),
        -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM old_rows AS gone
    GROUP BY 1
    -- Where bench_forum_comments are being deleted, their counts go with them.
    HAVING (SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0)
        AND EXISTS (SELECT FROM bench_forum_comments WHERE bench_forum_comments.id = gone.comment_id)
    ORDER BY 1
    ON CONFLICT (comment_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_score)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM old_rows AS gone
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = gone.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_score = counters.comment_score + excluded.comment_score;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comment_votes_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO bench_forum_comment_counters AS counters (comment_id, day, slot, upvotes, downvotes, score)
    SELECT comment_id, DATE '1970-01-01', diesel_counters_slot(32),
        -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM bench_forum_comment_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
    ORDER BY 1
    ON CONFLICT (comment_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_score)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM bench_forum_comment_votes AS gone
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = gone.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_score = counters.comment_score + excluded.comment_score;
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
INSERT INTO bench_forum_comment_counters AS counters (comment_id, day, slot, upvotes)
SELECT counted.comment_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0))
FROM bench_forum_comment_votes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(upvotes), 0) FROM bench_forum_comment_counters AS kept
    WHERE kept.comment_id = counted.comment_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (comment_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes;
INSERT INTO bench_forum_comment_counters AS counters (comment_id, day, slot, downvotes)
SELECT counted.comment_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0))
FROM bench_forum_comment_votes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(downvotes), 0) FROM bench_forum_comment_counters AS kept
    WHERE kept.comment_id = counted.comment_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (comment_id, day, slot) DO UPDATE SET downvotes = counters.downvotes + excluded.downvotes;
INSERT INTO bench_forum_comment_counters AS counters (comment_id, day, slot, score)
SELECT counted.comment_id, DATE '1970-01-01', 0, SUM(COALESCE(CAST(counted.vote AS BIGINT), 0))
FROM bench_forum_comment_votes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(score), 0) FROM bench_forum_comment_counters AS kept
    WHERE kept.comment_id = counted.comment_id
) = 0
    AND SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (comment_id, day, slot) DO UPDATE SET score = counters.score + excluded.score;
INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_score)
SELECT counted.creator_id, DATE '1970-01-01', 0, SUM(COALESCE(CAST(counted.vote AS BIGINT), 0))
FROM bench_forum_comment_votes AS counted
WHERE EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = counted.creator_id)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comment_score), 0) FROM bench_forum_person_counters AS kept
    WHERE kept.person_id = counted.creator_id
) = 0
    AND SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_score = counters.comment_score + excluded.comment_score;


-- Counts the rows of bench_forum_post_votes in
-- bench_forum_post_counters.upvotes, bench_forum_post_counters.downvotes,
-- bench_forum_post_counters.score, bench_forum_person_counters.post_score.
CREATE FUNCTION bench_count_post_votes_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, upvotes, downvotes, score)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32),
        SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM new_rows
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_score)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM new_rows
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = new_rows.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_score = counters.post_score + excluded.post_score;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_post_votes_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, upvotes, downvotes, score)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(upvotes), SUM(downvotes), SUM(score)
    FROM (
        SELECT post_id, -COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
            -COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
            -COALESCE(CAST(vote AS BIGINT), 0) AS score
        FROM old_rows
        UNION ALL
        SELECT post_id, COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS upvotes,
            COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS downvotes,
            COALESCE(CAST(vote AS BIGINT), 0) AS score
        FROM new_rows
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_posts are being deleted, their counts go with them.
    HAVING (SUM(upvotes) <> 0 OR SUM(downvotes) <> 0 OR SUM(score) <> 0)
        AND EXISTS (SELECT FROM bench_forum_posts WHERE bench_forum_posts.id = changes.post_id)
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_score)
    SELECT person_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(post_score)
    FROM (
        SELECT creator_id AS person_id, -COALESCE(CAST(vote AS BIGINT), 0) AS post_score
        FROM old_rows
        UNION ALL
        SELECT creator_id AS person_id, COALESCE(CAST(vote AS BIGINT), 0) AS post_score
        FROM new_rows
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(post_score) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = changes.person_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_score = counters.post_score + excluded.post_score;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_post_votes_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, upvotes, downvotes, score)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32),
        -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM old_rows AS gone
    GROUP BY 1
    -- Where bench_forum_posts are being deleted, their counts go with them.
    HAVING (SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0)
        AND EXISTS (SELECT FROM bench_forum_posts WHERE bench_forum_posts.id = gone.post_id)
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_score)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM old_rows AS gone
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = gone.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_score = counters.post_score + excluded.post_score;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_post_votes_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, upvotes, downvotes, score)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32),
        -SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)),
        -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM bench_forum_post_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST((CASE WHEN vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
        OR SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes, downvotes = counters.downvotes + excluded.downvotes,
        score = counters.score + excluded.score;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_score)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -SUM(COALESCE(CAST(vote AS BIGINT), 0))
    FROM bench_forum_post_votes AS gone
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(COALESCE(CAST(vote AS BIGINT), 0)) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = gone.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_score = counters.post_score + excluded.post_score;
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
INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, upvotes)
SELECT counted.post_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0))
FROM bench_forum_post_votes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(upvotes), 0) FROM bench_forum_post_counters AS kept
    WHERE kept.post_id = counted.post_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted.vote > 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (post_id, day, slot) DO UPDATE SET upvotes = counters.upvotes + excluded.upvotes;
INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, downvotes)
SELECT counted.post_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0))
FROM bench_forum_post_votes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(downvotes), 0) FROM bench_forum_post_counters AS kept
    WHERE kept.post_id = counted.post_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted.vote < 0 THEN 1 ELSE 0 END) AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (post_id, day, slot) DO UPDATE SET downvotes = counters.downvotes + excluded.downvotes;
INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, score)
SELECT counted.post_id, DATE '1970-01-01', 0, SUM(COALESCE(CAST(counted.vote AS BIGINT), 0))
FROM bench_forum_post_votes AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(score), 0) FROM bench_forum_post_counters AS kept
    WHERE kept.post_id = counted.post_id
) = 0
    AND SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (post_id, day, slot) DO UPDATE SET score = counters.score + excluded.score;
INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_score)
SELECT counted.creator_id, DATE '1970-01-01', 0, SUM(COALESCE(CAST(counted.vote AS BIGINT), 0))
FROM bench_forum_post_votes AS counted
WHERE EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = counted.creator_id)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(post_score), 0) FROM bench_forum_person_counters AS kept
    WHERE kept.person_id = counted.creator_id
) = 0
    AND SUM(COALESCE(CAST(counted.vote AS BIGINT), 0)) <> 0
ORDER BY 1
ON CONFLICT (person_id, day, slot) DO UPDATE SET post_score = counters.post_score + excluded.post_score;


-- Counts the rows of bench_forum_comments in
-- bench_forum_post_counters.comments, bench_forum_community_counters.comments,
-- bench_forum_person_counters.comment_count.
CREATE FUNCTION bench_count_comments_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, comments)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32), COUNT(*)
    FROM new_rows
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, comments)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), COUNT(*)
    FROM new_rows
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    -- Where bench_forum_communities are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM bench_forum_communities WHERE bench_forum_communities.id = new_rows.community_id)
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_count)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), COUNT(*)
    FROM new_rows
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_count = counters.comment_count + excluded.comment_count;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, comments)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(comments)
    FROM (
        SELECT post_id, -1 AS comments
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        UNION ALL
        SELECT post_id, 1 AS comments
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_posts are being deleted, their counts go with them.
    HAVING SUM(comments) <> 0
        AND EXISTS (SELECT FROM bench_forum_posts WHERE bench_forum_posts.id = changes.post_id)
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, comments)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(comments)
    FROM (
        SELECT community_id, -1 AS comments
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        UNION ALL
        SELECT community_id, 1 AS comments
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_communities are being deleted, their counts go with them.
    HAVING SUM(comments) <> 0
        AND EXISTS (SELECT FROM bench_forum_communities WHERE bench_forum_communities.id = changes.community_id)
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_count)
    SELECT person_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(comment_count)
    FROM (
        SELECT creator_id AS person_id, -1 AS comment_count
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        UNION ALL
        SELECT creator_id AS person_id, 1 AS comment_count
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(comment_count) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = changes.person_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_count = counters.comment_count + excluded.comment_count;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, comments)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM old_rows AS gone
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    -- Where bench_forum_posts are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM bench_forum_posts WHERE bench_forum_posts.id = gone.post_id)
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, comments)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM old_rows AS gone
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    -- Where bench_forum_communities are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM bench_forum_communities WHERE bench_forum_communities.id = gone.community_id)
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_count)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM old_rows AS gone
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = gone.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_count = counters.comment_count + excluded.comment_count;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_comments_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, comments)
    SELECT post_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM bench_forum_comments
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (post_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, comments)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM bench_forum_comments AS gone
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    -- Where bench_forum_communities are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM bench_forum_communities WHERE bench_forum_communities.id = gone.community_id)
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_count)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM bench_forum_comments
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_count = counters.comment_count + excluded.comment_count;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_comments_insert AFTER INSERT ON bench_forum_comments REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_insert();
CREATE TRIGGER bench_count_comments_update AFTER UPDATE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_update();
CREATE TRIGGER bench_count_comments_delete AFTER DELETE ON bench_forum_comments REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_delete();
CREATE TRIGGER bench_count_comments_truncate BEFORE TRUNCATE ON bench_forum_comments
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_comments_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_post_counters AS counters (post_id, day, slot, comments)
SELECT counted.post_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted
WHERE (NOT counted.deleted AND NOT counted.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comments), 0) FROM bench_forum_post_counters AS kept
    WHERE kept.post_id = counted.post_id
) = 0
ORDER BY 1
ON CONFLICT (post_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, comments)
SELECT counted.community_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted
WHERE EXISTS (SELECT FROM bench_forum_communities WHERE bench_forum_communities.id = counted.community_id)
    AND (NOT counted.deleted AND NOT counted.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comments), 0) FROM bench_forum_community_counters AS kept
    WHERE kept.community_id = counted.community_id
) = 0
ORDER BY 1
ON CONFLICT (community_id, day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, comment_count)
SELECT counted.creator_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted
WHERE (NOT counted.deleted AND NOT counted.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comment_count), 0) FROM bench_forum_person_counters AS kept
    WHERE kept.person_id = counted.creator_id
) = 0
ORDER BY 1
ON CONFLICT (person_id, day, slot) DO UPDATE SET comment_count = counters.comment_count + excluded.comment_count;


-- Counts the rows of bench_forum_comments in bench_forum_site_counters.comments.
CREATE FUNCTION bench_count_site_comments_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_site_counters AS counters (day, slot, comments)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), COUNT(*)
    FROM new_rows
    WHERE (local AND NOT deleted AND NOT removed)
    HAVING COUNT(*) <> 0
    ON CONFLICT (day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_site_comments_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_site_counters AS counters (day, slot, comments)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), SUM(comments)
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
    ON CONFLICT (day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_site_comments_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_site_counters AS counters (day, slot, comments)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM old_rows
    WHERE (local AND NOT deleted AND NOT removed)
    HAVING COUNT(*) <> 0
    ON CONFLICT (day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_site_comments_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO bench_forum_site_counters AS counters (day, slot, comments)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM bench_forum_comments
    WHERE (local AND NOT deleted AND NOT removed)
    HAVING COUNT(*) <> 0
    ON CONFLICT (day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_site_comments_insert AFTER INSERT ON bench_forum_comments REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_comments_insert();
CREATE TRIGGER bench_count_site_comments_update AFTER UPDATE ON bench_forum_comments
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_comments_update();
CREATE TRIGGER bench_count_site_comments_delete AFTER DELETE ON bench_forum_comments REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_comments_delete();
CREATE TRIGGER bench_count_site_comments_truncate BEFORE TRUNCATE ON bench_forum_comments
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_comments_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_site_counters AS counters (day, slot, comments)
SELECT DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted
WHERE (counted.local AND NOT counted.deleted AND NOT counted.removed)
GROUP BY 1, 2
HAVING (
    SELECT COALESCE(SUM(comments), 0) FROM bench_forum_site_counters AS kept
) = 0
ON CONFLICT (day, slot) DO UPDATE SET comments = counters.comments + excluded.comments;


-- Counts the rows of bench_forum_posts in
-- bench_forum_community_counters.posts, bench_forum_person_counters.post_count.
CREATE FUNCTION bench_count_posts_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, posts)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), COUNT(*)
    FROM new_rows
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_count)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), COUNT(*)
    FROM new_rows
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_count = counters.post_count + excluded.post_count;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, posts)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(posts)
    FROM (
        SELECT community_id, -1 AS posts
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        UNION ALL
        SELECT community_id, 1 AS posts
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_communities are being deleted, their counts go with them.
    HAVING SUM(posts) <> 0
        AND EXISTS (SELECT FROM bench_forum_communities WHERE bench_forum_communities.id = changes.community_id)
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_count)
    SELECT person_id, DATE '1970-01-01', diesel_counters_slot(32), SUM(post_count)
    FROM (
        SELECT creator_id AS person_id, -1 AS post_count
        FROM old_rows
        WHERE (NOT deleted AND NOT removed)
        UNION ALL
        SELECT creator_id AS person_id, 1 AS post_count
        FROM new_rows
        WHERE (NOT deleted AND NOT removed)
    ) AS changes
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING SUM(post_count) <> 0
        AND EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = changes.person_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_count = counters.post_count + excluded.post_count;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, posts)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM old_rows AS gone
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    -- Where bench_forum_communities are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM bench_forum_communities WHERE bench_forum_communities.id = gone.community_id)
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_count)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM old_rows AS gone
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    -- Where bench_forum_people are being deleted, their counts go with them.
    HAVING EXISTS (SELECT FROM bench_forum_people WHERE bench_forum_people.id = gone.creator_id)
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_count = counters.post_count + excluded.post_count;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_posts_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, posts)
    SELECT community_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM bench_forum_posts
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (community_id, day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_count)
    SELECT creator_id, DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM bench_forum_posts
    WHERE (NOT deleted AND NOT removed)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (person_id, day, slot) DO UPDATE SET post_count = counters.post_count + excluded.post_count;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_posts_insert AFTER INSERT ON bench_forum_posts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_insert();
CREATE TRIGGER bench_count_posts_update AFTER UPDATE ON bench_forum_posts
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_update();
CREATE TRIGGER bench_count_posts_delete AFTER DELETE ON bench_forum_posts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_delete();
CREATE TRIGGER bench_count_posts_truncate BEFORE TRUNCATE ON bench_forum_posts
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_posts_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_community_counters AS counters (community_id, day, slot, posts)
SELECT counted.community_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_posts AS counted
WHERE (NOT counted.deleted AND NOT counted.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(posts), 0) FROM bench_forum_community_counters AS kept
    WHERE kept.community_id = counted.community_id
) = 0
ORDER BY 1
ON CONFLICT (community_id, day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
INSERT INTO bench_forum_person_counters AS counters (person_id, day, slot, post_count)
SELECT counted.creator_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_posts AS counted
WHERE (NOT counted.deleted AND NOT counted.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(post_count), 0) FROM bench_forum_person_counters AS kept
    WHERE kept.person_id = counted.creator_id
) = 0
ORDER BY 1
ON CONFLICT (person_id, day, slot) DO UPDATE SET post_count = counters.post_count + excluded.post_count;


-- Counts the rows of bench_forum_posts in bench_forum_site_counters.posts.
CREATE FUNCTION bench_count_site_posts_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_site_counters AS counters (day, slot, posts)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), COUNT(*)
    FROM new_rows
    WHERE (local AND NOT deleted AND NOT removed)
    HAVING COUNT(*) <> 0
    ON CONFLICT (day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_site_posts_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_site_counters AS counters (day, slot, posts)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), SUM(posts)
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
    ON CONFLICT (day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_site_posts_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO bench_forum_site_counters AS counters (day, slot, posts)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM old_rows
    WHERE (local AND NOT deleted AND NOT removed)
    HAVING COUNT(*) <> 0
    ON CONFLICT (day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    RETURN NULL;
END $$;

CREATE FUNCTION bench_count_site_posts_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO bench_forum_site_counters AS counters (day, slot, posts)
    SELECT DATE '1970-01-01', diesel_counters_slot(32), -COUNT(*)
    FROM bench_forum_posts
    WHERE (local AND NOT deleted AND NOT removed)
    HAVING COUNT(*) <> 0
    ON CONFLICT (day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;
    RETURN NULL;
END $$;

CREATE TRIGGER bench_count_site_posts_insert AFTER INSERT ON bench_forum_posts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_posts_insert();
CREATE TRIGGER bench_count_site_posts_update AFTER UPDATE ON bench_forum_posts
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_posts_update();
CREATE TRIGGER bench_count_site_posts_delete AFTER DELETE ON bench_forum_posts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_posts_delete();
CREATE TRIGGER bench_count_site_posts_truncate BEFORE TRUNCATE ON bench_forum_posts
    FOR EACH STATEMENT EXECUTE FUNCTION bench_count_site_posts_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_site_counters AS counters (day, slot, posts)
SELECT DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_posts AS counted
WHERE (counted.local AND NOT counted.deleted AND NOT counted.removed)
GROUP BY 1, 2
HAVING (
    SELECT COALESCE(SUM(posts), 0) FROM bench_forum_site_counters AS kept
) = 0
ON CONFLICT (day, slot) DO UPDATE SET posts = counters.posts + excluded.posts;

