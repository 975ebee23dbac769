-- Rows are locked in this order, as the program must lock them:
-- bench_forum_post_votes, bench_forum_comment_votes, bench_forum_comments, bench_forum_posts,
-- bench_forum_communities, bench_forum_people, bench_forum_site.
-- A trigger keeps the mode in which it is created.
SET @sql_mode_before = @@sql_mode, sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

-- Counts the rows of bench_forum_post_votes in
-- bench_forum_posts.upvotes, bench_forum_posts.downvotes, bench_forum_posts.score.
-- Counts the rows of bench_forum_comment_votes in
-- bench_forum_comments.upvotes, bench_forum_comments.downvotes, bench_forum_comments.score.
-- Counts the rows of bench_forum_comments in bench_forum_posts.comments, bench_forum_people.comment_count.
-- Counts the rows of bench_forum_comments in bench_forum_people.comment_score.
-- Counts the rows of bench_forum_comments in bench_forum_site.comments.
-- Counts the rows of bench_forum_posts in bench_forum_communities.posts.
-- Counts the rows of bench_forum_posts in bench_forum_communities.comments.
-- Counts the rows of bench_forum_posts in bench_forum_people.post_count.
-- Counts the rows of bench_forum_posts in bench_forum_people.post_score.
-- Counts the rows of bench_forum_posts in bench_forum_site.posts.
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then
-- `diesel-counters recount`.
LOCK TABLES bench_forum_post_votes WRITE, bench_forum_posts WRITE, bench_forum_comment_votes WRITE,
    bench_forum_comments WRITE, bench_forum_people WRITE, bench_forum_site WRITE,
    bench_forum_communities WRITE, bench_forum_post_votes AS counted_bench_forum_post_votes READ,
    bench_forum_comment_votes AS counted_bench_forum_comment_votes READ,
    bench_forum_comments AS counted_bench_forum_comments READ,
    bench_forum_posts AS counted_bench_forum_posts READ;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_posts JOIN (
    SELECT counted_bench_forum_post_votes.post_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) AS upvotes
    FROM bench_forum_post_votes AS counted_bench_forum_post_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
) AS counted
ON bench_forum_posts.id = counted.id
    AND bench_forum_posts.upvotes = 0
SET bench_forum_posts.upvotes = bench_forum_posts.upvotes + counted.upvotes;
UPDATE bench_forum_posts JOIN (
    SELECT counted_bench_forum_post_votes.post_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) AS downvotes
    FROM bench_forum_post_votes AS counted_bench_forum_post_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
) AS counted
ON bench_forum_posts.id = counted.id
    AND bench_forum_posts.downvotes = 0
SET bench_forum_posts.downvotes = bench_forum_posts.downvotes + counted.downvotes;
UPDATE bench_forum_posts JOIN (
    SELECT counted_bench_forum_post_votes.post_id AS id,
        SUM(COALESCE(CAST(counted_bench_forum_post_votes.vote AS DECIMAL(65, 0)), 0)) AS score
    FROM bench_forum_post_votes AS counted_bench_forum_post_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST(counted_bench_forum_post_votes.vote AS DECIMAL(65, 0)), 0)) <> 0
) AS counted
ON bench_forum_posts.id = counted.id
    AND bench_forum_posts.score = 0
SET bench_forum_posts.score = bench_forum_posts.score + counted.score;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_comments JOIN (
    SELECT counted_bench_forum_comment_votes.comment_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) AS upvotes
    FROM bench_forum_comment_votes AS counted_bench_forum_comment_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
) AS counted
ON bench_forum_comments.id = counted.id
    AND bench_forum_comments.upvotes = 0
SET bench_forum_comments.upvotes = bench_forum_comments.upvotes + counted.upvotes;
UPDATE bench_forum_comments JOIN (
    SELECT counted_bench_forum_comment_votes.comment_id AS id,
        SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) AS downvotes
    FROM bench_forum_comment_votes AS counted_bench_forum_comment_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
) AS counted
ON bench_forum_comments.id = counted.id
    AND bench_forum_comments.downvotes = 0
SET bench_forum_comments.downvotes = bench_forum_comments.downvotes + counted.downvotes;
UPDATE bench_forum_comments JOIN (
    SELECT counted_bench_forum_comment_votes.comment_id AS id,
        SUM(COALESCE(CAST(counted_bench_forum_comment_votes.vote AS DECIMAL(65, 0)), 0)) AS score
    FROM bench_forum_comment_votes AS counted_bench_forum_comment_votes
    GROUP BY 1
    HAVING SUM(COALESCE(CAST(counted_bench_forum_comment_votes.vote AS DECIMAL(65, 0)), 0)) <> 0
) AS counted
ON bench_forum_comments.id = counted.id
    AND bench_forum_comments.score = 0
SET bench_forum_comments.score = bench_forum_comments.score + counted.score;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_posts JOIN (
    SELECT counted_bench_forum_comments.post_id AS id, COUNT(*) AS comments
    FROM bench_forum_comments AS counted_bench_forum_comments
    WHERE (NOT counted_bench_forum_comments.deleted AND NOT counted_bench_forum_comments.removed)
    GROUP BY 1
) AS counted
ON bench_forum_posts.id = counted.id
    AND bench_forum_posts.comments = 0
SET bench_forum_posts.comments = counted.comments;
UPDATE bench_forum_people JOIN (
    SELECT counted_bench_forum_comments.creator_id AS id, COUNT(*) AS comment_count
    FROM bench_forum_comments AS counted_bench_forum_comments
    WHERE (NOT counted_bench_forum_comments.deleted AND NOT counted_bench_forum_comments.removed)
    GROUP BY 1
) AS counted
ON bench_forum_people.id = counted.id
    AND bench_forum_people.comment_count = 0
SET bench_forum_people.comment_count = counted.comment_count;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_people JOIN (
    SELECT counted_bench_forum_comments.creator_id AS id,
        SUM(counted_bench_forum_comments.score) AS comment_score
    FROM bench_forum_comments AS counted_bench_forum_comments
    GROUP BY 1
    HAVING SUM(counted_bench_forum_comments.score) <> 0
) AS counted
ON bench_forum_people.id = counted.id
    AND bench_forum_people.comment_score = 0
SET bench_forum_people.comment_score = bench_forum_people.comment_score + counted.comment_score;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_site JOIN (
    SELECT COUNT(*) AS comments
    FROM bench_forum_comments AS counted_bench_forum_comments
    WHERE (counted_bench_forum_comments.local AND NOT counted_bench_forum_comments.deleted AND NOT counted_bench_forum_comments.removed)
    HAVING COUNT(*) <> 0
) AS counted
ON 1 = 1
    AND bench_forum_site.comments = 0
SET bench_forum_site.comments = counted.comments;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_communities JOIN (
    SELECT counted_bench_forum_posts.community_id AS id, COUNT(*) AS posts
    FROM bench_forum_posts AS counted_bench_forum_posts
    WHERE (NOT counted_bench_forum_posts.deleted AND NOT counted_bench_forum_posts.removed)
    GROUP BY 1
) AS counted
ON bench_forum_communities.id = counted.id
    AND bench_forum_communities.local
    AND bench_forum_communities.posts = 0
SET bench_forum_communities.posts = counted.posts;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_communities JOIN (
    SELECT counted_bench_forum_posts.community_id AS id, SUM(counted_bench_forum_posts.comments) AS comments
    FROM bench_forum_posts AS counted_bench_forum_posts
    GROUP BY 1
    HAVING SUM(counted_bench_forum_posts.comments) <> 0
) AS counted
ON bench_forum_communities.id = counted.id
    AND bench_forum_communities.local
    AND bench_forum_communities.comments = 0
SET bench_forum_communities.comments = bench_forum_communities.comments + counted.comments;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_people JOIN (
    SELECT counted_bench_forum_posts.creator_id AS id, COUNT(*) AS post_count
    FROM bench_forum_posts AS counted_bench_forum_posts
    WHERE (NOT counted_bench_forum_posts.deleted AND NOT counted_bench_forum_posts.removed)
    GROUP BY 1
) AS counted
ON bench_forum_people.id = counted.id
    AND bench_forum_people.post_count = 0
SET bench_forum_people.post_count = counted.post_count;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_people JOIN (
    SELECT counted_bench_forum_posts.creator_id AS id, SUM(counted_bench_forum_posts.score) AS post_score
    FROM bench_forum_posts AS counted_bench_forum_posts
    GROUP BY 1
    HAVING SUM(counted_bench_forum_posts.score) <> 0
) AS counted
ON bench_forum_people.id = counted.id
    AND bench_forum_people.post_score = 0
SET bench_forum_people.post_score = bench_forum_people.post_score + counted.post_score;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
UPDATE bench_forum_site JOIN (
    SELECT COUNT(*) AS posts
    FROM bench_forum_posts AS counted_bench_forum_posts
    WHERE (counted_bench_forum_posts.local AND NOT counted_bench_forum_posts.deleted AND NOT counted_bench_forum_posts.removed)
    HAVING COUNT(*) <> 0
) AS counted
ON 1 = 1
    AND bench_forum_site.posts = 0
SET bench_forum_site.posts = counted.posts;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS bench_count_post_votes_lock_insert;
CREATE TRIGGER bench_count_post_votes_lock_insert BEFORE INSERT ON bench_forum_post_votes FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_posts WHERE id = NEW.post_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_lock_update;
CREATE TRIGGER bench_count_post_votes_lock_update BEFORE UPDATE ON bench_forum_post_votes FOR EACH ROW
BEGIN
    IF NOT (OLD.post_id <=> NEW.post_id
        AND (CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END)
        AND (CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END)
        AND OLD.vote <=> NEW.vote) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_posts
            WHERE id IN (OLD.post_id, NEW.post_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_lock_delete;
CREATE TRIGGER bench_count_post_votes_lock_delete BEFORE DELETE ON bench_forum_post_votes FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_posts WHERE id = OLD.post_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_insert;
CREATE TRIGGER bench_count_post_votes_insert AFTER INSERT ON bench_forum_post_votes FOR EACH ROW
BEGIN
    UPDATE bench_forum_posts SET upvotes = upvotes + COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        downvotes = downvotes + COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        score = score + COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0)
    WHERE id = NEW.post_id
        AND (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0);
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_post_votes_update;
CREATE TRIGGER bench_count_post_votes_update AFTER UPDATE ON bench_forum_post_votes FOR EACH ROW
BEGIN
    IF NOT (OLD.post_id <=> NEW.post_id
        AND (CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END)
        AND (CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END)
        AND OLD.vote <=> NEW.vote)
        AND NOT EXISTS (SELECT 1 FROM bench_forum_post_votes AS same
            WHERE same.post_id = OLD.post_id
                AND same.person_id = OLD.person_id
                AND same.vote <=> OLD.vote
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_posts SET upvotes = upvotes - COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            downvotes = downvotes - COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            score = score - COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0)
        WHERE id = OLD.post_id
            AND (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0);
        UPDATE bench_forum_posts SET upvotes = upvotes + COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            downvotes = downvotes + COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            score = score + COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0)
        WHERE id = NEW.post_id
            AND (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_delete;
CREATE TRIGGER bench_count_post_votes_delete AFTER DELETE ON bench_forum_post_votes FOR EACH ROW
BEGIN
    UPDATE bench_forum_posts SET upvotes = upvotes - COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        downvotes = downvotes - COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        score = score - COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0)
    WHERE id = OLD.post_id
        AND (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0);
END;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS bench_count_comment_votes_lock_insert;
CREATE TRIGGER bench_count_comment_votes_lock_insert BEFORE INSERT ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_comments WHERE id = NEW.comment_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_comment_votes_lock_update;
CREATE TRIGGER bench_count_comment_votes_lock_update BEFORE UPDATE ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    IF NOT (OLD.comment_id <=> NEW.comment_id
        AND (CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END)
        AND (CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END)
        AND OLD.vote <=> NEW.vote) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_comments
            WHERE id IN (OLD.comment_id, NEW.comment_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comment_votes_lock_delete;
CREATE TRIGGER bench_count_comment_votes_lock_delete BEFORE DELETE ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_comments WHERE id = OLD.comment_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_comment_votes_insert;
CREATE TRIGGER bench_count_comment_votes_insert AFTER INSERT ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    UPDATE bench_forum_comments SET upvotes = upvotes + COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        downvotes = downvotes + COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        score = score + COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0)
    WHERE id = NEW.comment_id
        AND (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0);
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_comment_votes_update;
CREATE TRIGGER bench_count_comment_votes_update AFTER UPDATE ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    IF NOT (OLD.comment_id <=> NEW.comment_id
        AND (CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END)
        AND (CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) <=> (CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END)
        AND OLD.vote <=> NEW.vote)
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comment_votes AS same
            WHERE same.comment_id = OLD.comment_id
                AND same.person_id = OLD.person_id
                AND same.vote <=> OLD.vote
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_comments SET upvotes = upvotes - COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            downvotes = downvotes - COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            score = score - COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0)
        WHERE id = OLD.comment_id
            AND (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0);
        UPDATE bench_forum_comments SET upvotes = upvotes + COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            downvotes = downvotes + COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            score = score + COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0)
        WHERE id = NEW.comment_id
            AND (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comment_votes_delete;
CREATE TRIGGER bench_count_comment_votes_delete AFTER DELETE ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    UPDATE bench_forum_comments SET upvotes = upvotes - COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        downvotes = downvotes - COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
        score = score - COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0)
    WHERE id = OLD.comment_id
        AND (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0);
END;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS bench_count_comments_by_post_lock_insert;
CREATE TRIGGER bench_count_comments_by_post_lock_insert BEFORE INSERT ON bench_forum_comments FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_posts WHERE id = NEW.post_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_post_lock_update;
CREATE TRIGGER bench_count_comments_by_post_lock_update BEFORE UPDATE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF NOT (OLD.post_id <=> NEW.post_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed)
        AND OLD.creator_id <=> NEW.creator_id) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_posts
            WHERE id IN (OLD.post_id, NEW.post_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_post_lock_delete;
CREATE TRIGGER bench_count_comments_by_post_lock_delete BEFORE DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_posts WHERE id = OLD.post_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_post_insert;
CREATE TRIGGER bench_count_comments_by_post_insert AFTER INSERT ON bench_forum_comments FOR EACH ROW
BEGIN
    UPDATE bench_forum_posts SET comments = comments + 1
    WHERE id = NEW.post_id
        AND (NOT NEW.deleted AND NOT NEW.removed);
    UPDATE bench_forum_people SET comment_count = comment_count + 1
    WHERE id = NEW.creator_id
        AND (NOT NEW.deleted AND NOT NEW.removed);
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_comments_by_post_update;
CREATE TRIGGER bench_count_comments_by_post_update AFTER UPDATE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF NOT (OLD.post_id <=> NEW.post_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.deleted <=> OLD.deleted
                AND same.post_id <=> OLD.post_id
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_posts SET comments = comments - 1
        WHERE id = OLD.post_id
            AND (NOT OLD.deleted AND NOT OLD.removed);
        UPDATE bench_forum_posts SET comments = comments + 1
        WHERE id = NEW.post_id
            AND (NOT NEW.deleted AND NOT NEW.removed);
    END IF;
    IF NOT (OLD.creator_id <=> NEW.creator_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.creator_id <=> OLD.creator_id
                AND same.deleted <=> OLD.deleted
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_people SET comment_count = comment_count - 1
        WHERE id = OLD.creator_id
            AND (NOT OLD.deleted AND NOT OLD.removed);
        UPDATE bench_forum_people SET comment_count = comment_count + 1
        WHERE id = NEW.creator_id
            AND (NOT NEW.deleted AND NOT NEW.removed);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_post_delete;
CREATE TRIGGER bench_count_comments_by_post_delete AFTER DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    UPDATE bench_forum_posts SET comments = comments - 1
    WHERE id = OLD.post_id
        AND (NOT OLD.deleted AND NOT OLD.removed);
    UPDATE bench_forum_people SET comment_count = comment_count - 1
    WHERE id = OLD.creator_id
        AND (NOT OLD.deleted AND NOT OLD.removed);
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_post_of_post_id;
CREATE TRIGGER bench_count_comments_by_post_of_post_id BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people JOIN (
        SELECT id, SUM(comment_count) AS comment_count
        FROM (
            SELECT counted.creator_id AS id, -1 AS comment_count
            FROM (
                SELECT * FROM bench_forum_comments
                WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
                FOR UPDATE
            ) AS counted
            WHERE (NOT counted.deleted AND NOT counted.removed)
        ) AS changes
        GROUP BY 1
        HAVING SUM(comment_count) <> 0
        ORDER BY 1
    ) AS changes
    ON bench_forum_people.id = changes.id
    SET bench_forum_people.comment_count = bench_forum_people.comment_count + changes.comment_count;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_post_after_post_id;
CREATE TRIGGER bench_count_comments_by_post_after_post_id AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people JOIN (
        SELECT id, SUM(comment_count) AS comment_count
        FROM (
            SELECT counted.creator_id AS id, 1 AS comment_count
            FROM (
                SELECT * FROM bench_forum_comments
                WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
                FOR UPDATE
            ) AS counted
            WHERE (NOT counted.deleted AND NOT counted.removed)
        ) AS changes
        GROUP BY 1
        HAVING SUM(comment_count) <> 0
        ORDER BY 1
    ) AS changes
    ON bench_forum_people.id = changes.id
    SET bench_forum_people.comment_count = bench_forum_people.comment_count + changes.comment_count;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_score_insert;
CREATE TRIGGER bench_count_comments_by_score_insert AFTER INSERT ON bench_forum_comments FOR EACH ROW
BEGIN
    UPDATE bench_forum_people SET comment_score = comment_score + NEW.score
    WHERE id = NEW.creator_id
        AND NEW.score <> 0;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_comments_by_score_update;
CREATE TRIGGER bench_count_comments_by_score_update AFTER UPDATE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF NOT (OLD.creator_id <=> NEW.creator_id AND OLD.score <=> NEW.score)
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.creator_id <=> OLD.creator_id
                AND same.score <=> OLD.score
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_people SET comment_score = comment_score - OLD.score
        WHERE id = OLD.creator_id
            AND OLD.score <> 0;
        UPDATE bench_forum_people SET comment_score = comment_score + NEW.score
        WHERE id = NEW.creator_id
            AND NEW.score <> 0;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_score_delete;
CREATE TRIGGER bench_count_comments_by_score_delete AFTER DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    UPDATE bench_forum_people SET comment_score = comment_score - OLD.score
    WHERE id = OLD.creator_id
        AND OLD.score <> 0;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_score_of_post_id;
CREATE TRIGGER bench_count_comments_by_score_of_post_id BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people JOIN (
        SELECT id, SUM(comment_score) AS comment_score
        FROM (
            SELECT counted.creator_id AS id, -counted.score AS comment_score
            FROM (
                SELECT * FROM bench_forum_comments
                WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
                FOR UPDATE
            ) AS counted
        ) AS changes
        GROUP BY 1
        HAVING SUM(comment_score) <> 0
        ORDER BY 1
    ) AS changes
    ON bench_forum_people.id = changes.id
    SET bench_forum_people.comment_score = bench_forum_people.comment_score + changes.comment_score;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_score_after_post_id;
CREATE TRIGGER bench_count_comments_by_score_after_post_id AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people JOIN (
        SELECT id, SUM(comment_score) AS comment_score
        FROM (
            SELECT counted.creator_id AS id, counted.score AS comment_score
            FROM (
                SELECT * FROM bench_forum_comments
                WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
                FOR UPDATE
            ) AS counted
        ) AS changes
        GROUP BY 1
        HAVING SUM(comment_score) <> 0
        ORDER BY 1
    ) AS changes
    ON bench_forum_people.id = changes.id
    SET bench_forum_people.comment_score = bench_forum_people.comment_score + changes.comment_score;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_site_insert;
CREATE TRIGGER bench_count_comments_by_site_insert AFTER INSERT ON bench_forum_comments FOR EACH ROW
BEGIN
    UPDATE bench_forum_site SET comments = comments + 1
    WHERE (NEW.local AND NOT NEW.deleted AND NOT NEW.removed);
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_comments_by_site_update;
CREATE TRIGGER bench_count_comments_by_site_update AFTER UPDATE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF NOT ((OLD.local AND NOT OLD.deleted AND NOT OLD.removed) <=> (NEW.local AND NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.deleted <=> OLD.deleted
                AND same.local <=> OLD.local
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_site SET comments = comments - 1
        WHERE (OLD.local AND NOT OLD.deleted AND NOT OLD.removed);
        UPDATE bench_forum_site SET comments = comments + 1
        WHERE (NEW.local AND NOT NEW.deleted AND NOT NEW.removed);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_site_delete;
CREATE TRIGGER bench_count_comments_by_site_delete AFTER DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    UPDATE bench_forum_site SET comments = comments - 1
    WHERE (OLD.local AND NOT OLD.deleted AND NOT OLD.removed);
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_site_of_post_id;
CREATE TRIGGER bench_count_comments_by_site_of_post_id BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_site JOIN (
        SELECT SUM(comments) AS comments
        FROM (
            SELECT -1 AS comments
            FROM (
                SELECT * FROM bench_forum_comments
                WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
                FOR UPDATE
            ) AS counted
            WHERE (counted.local AND NOT counted.deleted AND NOT counted.removed)
        ) AS changes
        HAVING SUM(comments) <> 0
    ) AS changes
    ON 1 = 1
    SET bench_forum_site.comments = bench_forum_site.comments + changes.comments;
END;

DROP TRIGGER IF EXISTS bench_count_comments_by_site_after_post_id;
CREATE TRIGGER bench_count_comments_by_site_after_post_id AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_site JOIN (
        SELECT SUM(comments) AS comments
        FROM (
            SELECT 1 AS comments
            FROM (
                SELECT * FROM bench_forum_comments
                WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
                FOR UPDATE
            ) AS counted
            WHERE (counted.local AND NOT counted.deleted AND NOT counted.removed)
        ) AS changes
        HAVING SUM(comments) <> 0
    ) AS changes
    ON 1 = 1
    SET bench_forum_site.comments = bench_forum_site.comments + changes.comments;
END;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS bench_count_posts_by_community_lock_insert;
CREATE TRIGGER bench_count_posts_by_community_lock_insert BEFORE INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_communities WHERE id = NEW.community_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_community_lock_update;
CREATE TRIGGER bench_count_posts_by_community_lock_update BEFORE UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.community_id <=> NEW.community_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed)) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_communities
            WHERE id IN (OLD.community_id, NEW.community_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_community_lock_delete;
CREATE TRIGGER bench_count_posts_by_community_lock_delete BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_communities WHERE id = OLD.community_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_community_insert;
CREATE TRIGGER bench_count_posts_by_community_insert AFTER INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_communities SET posts = posts + 1
    WHERE id = NEW.community_id
        AND local
        AND (NOT NEW.deleted AND NOT NEW.removed);
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_posts_by_community_update;
CREATE TRIGGER bench_count_posts_by_community_update AFTER UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.community_id <=> NEW.community_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.community_id <=> OLD.community_id
                AND same.deleted <=> OLD.deleted
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_communities SET posts = posts - 1
        WHERE id = OLD.community_id
            AND local
            AND (NOT OLD.deleted AND NOT OLD.removed);
        UPDATE bench_forum_communities SET posts = posts + 1
        WHERE id = NEW.community_id
            AND local
            AND (NOT NEW.deleted AND NOT NEW.removed);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_community_delete;
CREATE TRIGGER bench_count_posts_by_community_delete AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_communities SET posts = posts - 1
    WHERE id = OLD.community_id
        AND local
        AND (NOT OLD.deleted AND NOT OLD.removed);
END;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS bench_count_posts_by_comments_lock_insert;
CREATE TRIGGER bench_count_posts_by_comments_lock_insert BEFORE INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_communities WHERE id = NEW.community_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_comments_lock_update;
CREATE TRIGGER bench_count_posts_by_comments_lock_update BEFORE UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.community_id <=> NEW.community_id AND OLD.comments <=> NEW.comments) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_communities
            WHERE id IN (OLD.community_id, NEW.community_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_comments_lock_delete;
CREATE TRIGGER bench_count_posts_by_comments_lock_delete BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_communities WHERE id = OLD.community_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_comments_insert;
CREATE TRIGGER bench_count_posts_by_comments_insert AFTER INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_communities SET comments = comments + NEW.comments
    WHERE id = NEW.community_id
        AND local
        AND NEW.comments <> 0;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_posts_by_comments_update;
CREATE TRIGGER bench_count_posts_by_comments_update AFTER UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.community_id <=> NEW.community_id AND OLD.comments <=> NEW.comments)
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.comments <=> OLD.comments
                AND same.community_id <=> OLD.community_id
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_communities SET comments = comments - OLD.comments
        WHERE id = OLD.community_id
            AND local
            AND OLD.comments <> 0;
        UPDATE bench_forum_communities SET comments = comments + NEW.comments
        WHERE id = NEW.community_id
            AND local
            AND NEW.comments <> 0;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_comments_delete;
CREATE TRIGGER bench_count_posts_by_comments_delete AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_communities SET comments = comments - OLD.comments
    WHERE id = OLD.community_id
        AND local
        AND OLD.comments <> 0;
END;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS bench_count_posts_by_person_lock_insert;
CREATE TRIGGER bench_count_posts_by_person_lock_insert BEFORE INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_people WHERE id = NEW.creator_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_person_lock_update;
CREATE TRIGGER bench_count_posts_by_person_lock_update BEFORE UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.creator_id <=> NEW.creator_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed)) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_people
            WHERE id IN (OLD.creator_id, NEW.creator_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_person_lock_delete;
CREATE TRIGGER bench_count_posts_by_person_lock_delete BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_people WHERE id = OLD.creator_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_person_insert;
CREATE TRIGGER bench_count_posts_by_person_insert AFTER INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people SET post_count = post_count + 1
    WHERE id = NEW.creator_id
        AND (NOT NEW.deleted AND NOT NEW.removed);
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_posts_by_person_update;
CREATE TRIGGER bench_count_posts_by_person_update AFTER UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.creator_id <=> NEW.creator_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.creator_id <=> OLD.creator_id
                AND same.deleted <=> OLD.deleted
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_people SET post_count = post_count - 1
        WHERE id = OLD.creator_id
            AND (NOT OLD.deleted AND NOT OLD.removed);
        UPDATE bench_forum_people SET post_count = post_count + 1
        WHERE id = NEW.creator_id
            AND (NOT NEW.deleted AND NOT NEW.removed);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_person_delete;
CREATE TRIGGER bench_count_posts_by_person_delete AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people SET post_count = post_count - 1
    WHERE id = OLD.creator_id
        AND (NOT OLD.deleted AND NOT OLD.removed);
END;

-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
DROP TRIGGER IF EXISTS bench_count_posts_by_score_lock_insert;
CREATE TRIGGER bench_count_posts_by_score_lock_insert BEFORE INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_people WHERE id = NEW.creator_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_score_lock_update;
CREATE TRIGGER bench_count_posts_by_score_lock_update BEFORE UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.creator_id <=> NEW.creator_id AND OLD.score <=> NEW.score) THEN
        SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_people
            WHERE id IN (OLD.creator_id, NEW.creator_id) FOR UPDATE;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_score_lock_delete;
CREATE TRIGGER bench_count_posts_by_score_lock_delete BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    SELECT COUNT(*) INTO @diesel_counters_locked FROM bench_forum_people WHERE id = OLD.creator_id FOR UPDATE;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_score_insert;
CREATE TRIGGER bench_count_posts_by_score_insert AFTER INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people SET post_score = post_score + NEW.score
    WHERE id = NEW.creator_id
        AND NEW.score <> 0;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_posts_by_score_update;
CREATE TRIGGER bench_count_posts_by_score_update AFTER UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.creator_id <=> NEW.creator_id AND OLD.score <=> NEW.score)
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.creator_id <=> OLD.creator_id
                AND same.score <=> OLD.score
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_people SET post_score = post_score - OLD.score
        WHERE id = OLD.creator_id
            AND OLD.score <> 0;
        UPDATE bench_forum_people SET post_score = post_score + NEW.score
        WHERE id = NEW.creator_id
            AND NEW.score <> 0;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_score_delete;
CREATE TRIGGER bench_count_posts_by_score_delete AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_people SET post_score = post_score - OLD.score
    WHERE id = OLD.creator_id
        AND OLD.score <> 0;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_site_insert;
CREATE TRIGGER bench_count_posts_by_site_insert AFTER INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_site SET posts = posts + 1
    WHERE (NEW.local AND NOT NEW.deleted AND NOT NEW.removed);
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_posts_by_site_update;
CREATE TRIGGER bench_count_posts_by_site_update AFTER UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT ((OLD.local AND NOT OLD.deleted AND NOT OLD.removed) <=> (NEW.local AND NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.deleted <=> OLD.deleted
                AND same.local <=> OLD.local
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        UPDATE bench_forum_site SET posts = posts - 1
        WHERE (OLD.local AND NOT OLD.deleted AND NOT OLD.removed);
        UPDATE bench_forum_site SET posts = posts + 1
        WHERE (NEW.local AND NOT NEW.deleted AND NOT NEW.removed);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_by_site_delete;
CREATE TRIGGER bench_count_posts_by_site_delete AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    UPDATE bench_forum_site SET posts = posts - 1
    WHERE (OLD.local AND NOT OLD.deleted AND NOT OLD.removed);
END;

UNLOCK TABLES;
SET sql_mode = @sql_mode_before;
