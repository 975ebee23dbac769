-- A trigger keeps the mode in which it is created.
SET @sql_mode_before = @@sql_mode, sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

-- Counts the rows of bench_forum_comment_votes in
-- bench_forum_comment_counters.upvotes, bench_forum_comment_counters.downvotes,
-- bench_forum_comment_counters.score, bench_forum_person_counters.comment_score.
-- Counts the rows of bench_forum_post_votes in
-- bench_forum_post_counters.upvotes, bench_forum_post_counters.downvotes,
-- bench_forum_post_counters.score, bench_forum_person_counters.post_score.
-- Counts the rows of bench_forum_comments in
-- bench_forum_post_counters.comments, bench_forum_community_counters.comments,
-- bench_forum_person_counters.comment_count.
-- Counts the rows of bench_forum_comments in bench_forum_site_counters.comments.
-- Counts the rows of bench_forum_posts in
-- bench_forum_community_counters.posts, bench_forum_person_counters.post_count.
-- Counts the rows of bench_forum_posts in bench_forum_site_counters.posts.
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then
-- `diesel-counters recount`.
LOCK TABLES bench_forum_comment_votes WRITE, bench_forum_comments WRITE, bench_forum_comment_counters WRITE,
    bench_forum_person_counters WRITE, bench_forum_post_votes WRITE, bench_forum_posts WRITE,
    bench_forum_post_counters WRITE, bench_forum_community_counters WRITE,
    bench_forum_site_counters WRITE, bench_forum_comment_votes AS counted_bench_forum_comment_votes READ,
    bench_forum_comment_counters AS kept_bench_forum_comment_counters READ, bench_forum_people READ,
    bench_forum_person_counters AS kept_bench_forum_person_counters READ,
    bench_forum_post_votes AS counted_bench_forum_post_votes READ,
    bench_forum_post_counters AS kept_bench_forum_post_counters READ,
    bench_forum_comments AS counted_bench_forum_comments READ, bench_forum_communities READ,
    bench_forum_community_counters AS kept_bench_forum_community_counters READ,
    bench_forum_site_counters AS kept_bench_forum_site_counters READ,
    bench_forum_posts AS counted_bench_forum_posts READ;

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_comment_counters (comment_id, day, slot, upvotes)
SELECT counted_bench_forum_comment_votes.comment_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0))
FROM bench_forum_comment_votes AS counted_bench_forum_comment_votes
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(upvotes), 0) FROM bench_forum_comment_counters AS kept_bench_forum_comment_counters
    WHERE kept_bench_forum_comment_counters.comment_id = counted_bench_forum_comment_votes.comment_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE upvotes = bench_forum_comment_counters.upvotes + VALUES(upvotes);
INSERT INTO bench_forum_comment_counters (comment_id, day, slot, downvotes)
SELECT counted_bench_forum_comment_votes.comment_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0))
FROM bench_forum_comment_votes AS counted_bench_forum_comment_votes
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(downvotes), 0) FROM bench_forum_comment_counters AS kept_bench_forum_comment_counters
    WHERE kept_bench_forum_comment_counters.comment_id = counted_bench_forum_comment_votes.comment_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_comment_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE downvotes = bench_forum_comment_counters.downvotes + VALUES(downvotes);
INSERT INTO bench_forum_comment_counters (comment_id, day, slot, score)
SELECT counted_bench_forum_comment_votes.comment_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST(counted_bench_forum_comment_votes.vote AS DECIMAL(65, 0)), 0))
FROM bench_forum_comment_votes AS counted_bench_forum_comment_votes
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(score), 0) FROM bench_forum_comment_counters AS kept_bench_forum_comment_counters
    WHERE kept_bench_forum_comment_counters.comment_id = counted_bench_forum_comment_votes.comment_id
) = 0
    AND SUM(COALESCE(CAST(counted_bench_forum_comment_votes.vote AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE score = bench_forum_comment_counters.score + VALUES(score);
INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_score)
SELECT counted_bench_forum_comment_votes.creator_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST(counted_bench_forum_comment_votes.vote AS DECIMAL(65, 0)), 0))
FROM bench_forum_comment_votes AS counted_bench_forum_comment_votes
WHERE EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = counted_bench_forum_comment_votes.creator_id)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comment_score), 0) FROM bench_forum_person_counters AS kept_bench_forum_person_counters
    WHERE kept_bench_forum_person_counters.person_id = counted_bench_forum_comment_votes.creator_id
) = 0
    AND SUM(COALESCE(CAST(counted_bench_forum_comment_votes.vote AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE comment_score = bench_forum_person_counters.comment_score + VALUES(comment_score);

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_post_counters (post_id, day, slot, upvotes)
SELECT counted_bench_forum_post_votes.post_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0))
FROM bench_forum_post_votes AS counted_bench_forum_post_votes
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(upvotes), 0) FROM bench_forum_post_counters AS kept_bench_forum_post_counters
    WHERE kept_bench_forum_post_counters.post_id = counted_bench_forum_post_votes.post_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE upvotes = bench_forum_post_counters.upvotes + VALUES(upvotes);
INSERT INTO bench_forum_post_counters (post_id, day, slot, downvotes)
SELECT counted_bench_forum_post_votes.post_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0))
FROM bench_forum_post_votes AS counted_bench_forum_post_votes
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(downvotes), 0) FROM bench_forum_post_counters AS kept_bench_forum_post_counters
    WHERE kept_bench_forum_post_counters.post_id = counted_bench_forum_post_votes.post_id
) = 0
    AND SUM(COALESCE(CAST((CASE WHEN counted_bench_forum_post_votes.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE downvotes = bench_forum_post_counters.downvotes + VALUES(downvotes);
INSERT INTO bench_forum_post_counters (post_id, day, slot, score)
SELECT counted_bench_forum_post_votes.post_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST(counted_bench_forum_post_votes.vote AS DECIMAL(65, 0)), 0))
FROM bench_forum_post_votes AS counted_bench_forum_post_votes
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(score), 0) FROM bench_forum_post_counters AS kept_bench_forum_post_counters
    WHERE kept_bench_forum_post_counters.post_id = counted_bench_forum_post_votes.post_id
) = 0
    AND SUM(COALESCE(CAST(counted_bench_forum_post_votes.vote AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE score = bench_forum_post_counters.score + VALUES(score);
INSERT INTO bench_forum_person_counters (person_id, day, slot, post_score)
SELECT counted_bench_forum_post_votes.creator_id, DATE '1970-01-01', 0,
    SUM(COALESCE(CAST(counted_bench_forum_post_votes.vote AS DECIMAL(65, 0)), 0))
FROM bench_forum_post_votes AS counted_bench_forum_post_votes
WHERE EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = counted_bench_forum_post_votes.creator_id)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(post_score), 0) FROM bench_forum_person_counters AS kept_bench_forum_person_counters
    WHERE kept_bench_forum_person_counters.person_id = counted_bench_forum_post_votes.creator_id
) = 0
    AND SUM(COALESCE(CAST(counted_bench_forum_post_votes.vote AS DECIMAL(65, 0)), 0)) <> 0
ORDER BY 1
ON DUPLICATE KEY UPDATE post_score = bench_forum_person_counters.post_score + VALUES(post_score);

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_post_counters (post_id, day, slot, comments)
SELECT counted_bench_forum_comments.post_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted_bench_forum_comments
WHERE (NOT counted_bench_forum_comments.deleted AND NOT counted_bench_forum_comments.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comments), 0) FROM bench_forum_post_counters AS kept_bench_forum_post_counters
    WHERE kept_bench_forum_post_counters.post_id = counted_bench_forum_comments.post_id
) = 0
ORDER BY 1
ON DUPLICATE KEY UPDATE comments = bench_forum_post_counters.comments + VALUES(comments);
INSERT INTO bench_forum_community_counters (community_id, day, slot, comments)
SELECT counted_bench_forum_comments.community_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted_bench_forum_comments
WHERE EXISTS (SELECT 1 FROM bench_forum_communities WHERE bench_forum_communities.id = counted_bench_forum_comments.community_id)
    AND (NOT counted_bench_forum_comments.deleted AND NOT counted_bench_forum_comments.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comments), 0) FROM bench_forum_community_counters AS kept_bench_forum_community_counters
    WHERE kept_bench_forum_community_counters.community_id = counted_bench_forum_comments.community_id
) = 0
ORDER BY 1
ON DUPLICATE KEY UPDATE comments = bench_forum_community_counters.comments + VALUES(comments);
INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_count)
SELECT counted_bench_forum_comments.creator_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted_bench_forum_comments
WHERE (NOT counted_bench_forum_comments.deleted AND NOT counted_bench_forum_comments.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(comment_count), 0) FROM bench_forum_person_counters AS kept_bench_forum_person_counters
    WHERE kept_bench_forum_person_counters.person_id = counted_bench_forum_comments.creator_id
) = 0
ORDER BY 1
ON DUPLICATE KEY UPDATE comment_count = bench_forum_person_counters.comment_count + VALUES(comment_count);

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_site_counters (day, slot, comments)
SELECT DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_comments AS counted_bench_forum_comments
WHERE (counted_bench_forum_comments.local AND NOT counted_bench_forum_comments.deleted AND NOT counted_bench_forum_comments.removed)
GROUP BY 1, 2
HAVING (
    SELECT COALESCE(SUM(comments), 0) FROM bench_forum_site_counters AS kept_bench_forum_site_counters
) = 0
ON DUPLICATE KEY UPDATE comments = bench_forum_site_counters.comments + VALUES(comments);

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_community_counters (community_id, day, slot, posts)
SELECT counted_bench_forum_posts.community_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_posts AS counted_bench_forum_posts
WHERE (NOT counted_bench_forum_posts.deleted AND NOT counted_bench_forum_posts.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(posts), 0) FROM bench_forum_community_counters AS kept_bench_forum_community_counters
    WHERE kept_bench_forum_community_counters.community_id = counted_bench_forum_posts.community_id
) = 0
ORDER BY 1
ON DUPLICATE KEY UPDATE posts = bench_forum_community_counters.posts + VALUES(posts);
INSERT INTO bench_forum_person_counters (person_id, day, slot, post_count)
SELECT counted_bench_forum_posts.creator_id, DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_posts AS counted_bench_forum_posts
WHERE (NOT counted_bench_forum_posts.deleted AND NOT counted_bench_forum_posts.removed)
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(post_count), 0) FROM bench_forum_person_counters AS kept_bench_forum_person_counters
    WHERE kept_bench_forum_person_counters.person_id = counted_bench_forum_posts.creator_id
) = 0
ORDER BY 1
ON DUPLICATE KEY UPDATE post_count = bench_forum_person_counters.post_count + VALUES(post_count);

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO bench_forum_site_counters (day, slot, posts)
SELECT DATE '1970-01-01', 0, COUNT(*)
FROM bench_forum_posts AS counted_bench_forum_posts
WHERE (counted_bench_forum_posts.local AND NOT counted_bench_forum_posts.deleted AND NOT counted_bench_forum_posts.removed)
GROUP BY 1, 2
HAVING (
    SELECT COALESCE(SUM(posts), 0) FROM bench_forum_site_counters AS kept_bench_forum_site_counters
) = 0
ON DUPLICATE KEY UPDATE posts = bench_forum_site_counters.posts + VALUES(posts);

DROP TRIGGER IF EXISTS bench_count_comment_votes_insert;
CREATE TRIGGER bench_count_comment_votes_insert AFTER INSERT ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    IF (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO bench_forum_comment_counters (comment_id, day, slot, upvotes, downvotes, score)
        VALUES (NEW.comment_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
            score = score + VALUES(score);
    END IF;
    IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = NEW.creator_id)
        AND COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_score)
        VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE comment_score = comment_score + VALUES(comment_score);
    END IF;
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
        IF (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO bench_forum_comment_counters (comment_id, day, slot, upvotes, downvotes, score)
            VALUES (OLD.comment_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                -COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
                score = score + VALUES(score);
        END IF;
        IF (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO bench_forum_comment_counters (comment_id, day, slot, upvotes, downvotes, score)
            VALUES (NEW.comment_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
                score = score + VALUES(score);
        END IF;
    END IF;
    IF NOT (OLD.creator_id <=> NEW.creator_id AND OLD.vote <=> NEW.vote)
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comment_votes AS same
            WHERE same.comment_id = OLD.comment_id
                AND same.person_id = OLD.person_id
                AND same.creator_id <=> OLD.creator_id
                AND same.vote <=> OLD.vote
            LOCK IN SHARE MODE) THEN
        IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = OLD.creator_id)
            AND COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_score)
            VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE comment_score = comment_score + VALUES(comment_score);
        END IF;
        IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = NEW.creator_id)
            AND COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_score)
            VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE comment_score = comment_score + VALUES(comment_score);
        END IF;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comment_votes_delete;
CREATE TRIGGER bench_count_comment_votes_delete AFTER DELETE ON bench_forum_comment_votes FOR EACH ROW
BEGIN
    IF (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO bench_forum_comment_counters (comment_id, day, slot, upvotes, downvotes, score)
        VALUES (OLD.comment_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            -COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
            score = score + VALUES(score);
    END IF;
    IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = OLD.creator_id)
        AND COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_score)
        VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE comment_score = comment_score + VALUES(comment_score);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comment_votes_of_comment_id;
CREATE TRIGGER bench_count_comment_votes_of_comment_id BEFORE DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_score)
    SELECT person_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(comment_score)
    FROM (
        SELECT counted.creator_id AS person_id, -COALESCE(CAST(counted.vote AS DECIMAL(65, 0)), 0) AS comment_score
        FROM (
            SELECT * FROM bench_forum_comment_votes
            WHERE (comment_id <=> OLD.id) AND @@foreign_key_checks
            FOR UPDATE
        ) AS counted
        WHERE EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = counted.creator_id)
    ) AS changes
    GROUP BY 1
    HAVING SUM(comment_score) <> 0
    ORDER BY 1
    ON DUPLICATE KEY UPDATE comment_score = bench_forum_person_counters.comment_score + VALUES(comment_score);
END;

DROP TRIGGER IF EXISTS bench_count_comment_votes_after_comment_id;
CREATE TRIGGER bench_count_comment_votes_after_comment_id AFTER DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_score)
    SELECT person_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(comment_score)
    FROM (
        SELECT counted.creator_id AS person_id, COALESCE(CAST(counted.vote AS DECIMAL(65, 0)), 0) AS comment_score
        FROM (
            SELECT * FROM bench_forum_comment_votes
            WHERE (comment_id <=> OLD.id) AND @@foreign_key_checks
            FOR UPDATE
        ) AS counted
        WHERE EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = counted.creator_id)
    ) AS changes
    GROUP BY 1
    HAVING SUM(comment_score) <> 0
    ORDER BY 1
    ON DUPLICATE KEY UPDATE comment_score = bench_forum_person_counters.comment_score + VALUES(comment_score);
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_insert;
CREATE TRIGGER bench_count_post_votes_insert AFTER INSERT ON bench_forum_post_votes FOR EACH ROW
BEGIN
    IF (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO bench_forum_post_counters (post_id, day, slot, upvotes, downvotes, score)
        VALUES (NEW.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
            score = score + VALUES(score);
    END IF;
    IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = NEW.creator_id)
        AND COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, post_score)
        VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE post_score = post_score + VALUES(post_score);
    END IF;
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
        IF (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO bench_forum_post_counters (post_id, day, slot, upvotes, downvotes, score)
            VALUES (OLD.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                -COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
                score = score + VALUES(score);
        END IF;
        IF (COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
            OR COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
            INSERT INTO bench_forum_post_counters (post_id, day, slot, upvotes, downvotes, score)
            VALUES (NEW.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST((CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                COALESCE(CAST((CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
                COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
                score = score + VALUES(score);
        END IF;
    END IF;
    IF NOT (OLD.creator_id <=> NEW.creator_id AND OLD.vote <=> NEW.vote)
        AND NOT EXISTS (SELECT 1 FROM bench_forum_post_votes AS same
            WHERE same.post_id = OLD.post_id
                AND same.person_id = OLD.person_id
                AND same.creator_id <=> OLD.creator_id
                AND same.vote <=> OLD.vote
            LOCK IN SHARE MODE) THEN
        IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = OLD.creator_id)
            AND COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, post_score)
            VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE post_score = post_score + VALUES(post_score);
        END IF;
        IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = NEW.creator_id)
            AND COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, post_score)
            VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
                COALESCE(CAST(NEW.vote AS DECIMAL(65, 0)), 0))
            ON DUPLICATE KEY UPDATE post_score = post_score + VALUES(post_score);
        END IF;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_delete;
CREATE TRIGGER bench_count_post_votes_delete AFTER DELETE ON bench_forum_post_votes FOR EACH ROW
BEGIN
    IF (COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0) <> 0
        OR COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0) THEN
        INSERT INTO bench_forum_post_counters (post_id, day, slot, upvotes, downvotes, score)
        VALUES (OLD.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST((CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            -COALESCE(CAST((CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END) AS DECIMAL(65, 0)), 0),
            -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE upvotes = upvotes + VALUES(upvotes), downvotes = downvotes + VALUES(downvotes),
            score = score + VALUES(score);
    END IF;
    IF EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = OLD.creator_id)
        AND COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0) <> 0 THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, post_score)
        VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
            -COALESCE(CAST(OLD.vote AS DECIMAL(65, 0)), 0))
        ON DUPLICATE KEY UPDATE post_score = post_score + VALUES(post_score);
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_of_post_id;
CREATE TRIGGER bench_count_post_votes_of_post_id BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_person_counters (person_id, day, slot, post_score)
    SELECT person_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(post_score)
    FROM (
        SELECT counted.creator_id AS person_id, -COALESCE(CAST(counted.vote AS DECIMAL(65, 0)), 0) AS post_score
        FROM (
            SELECT * FROM bench_forum_post_votes
            WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
            FOR UPDATE
        ) AS counted
        WHERE EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = counted.creator_id)
    ) AS changes
    GROUP BY 1
    HAVING SUM(post_score) <> 0
    ORDER BY 1
    ON DUPLICATE KEY UPDATE post_score = bench_forum_person_counters.post_score + VALUES(post_score);
END;

DROP TRIGGER IF EXISTS bench_count_post_votes_after_post_id;
CREATE TRIGGER bench_count_post_votes_after_post_id AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_person_counters (person_id, day, slot, post_score)
    SELECT person_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(post_score)
    FROM (
        SELECT counted.creator_id AS person_id, COALESCE(CAST(counted.vote AS DECIMAL(65, 0)), 0) AS post_score
        FROM (
            SELECT * FROM bench_forum_post_votes
            WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
            FOR UPDATE
        ) AS counted
        WHERE EXISTS (SELECT 1 FROM bench_forum_people WHERE bench_forum_people.id = counted.creator_id)
    ) AS changes
    GROUP BY 1
    HAVING SUM(post_score) <> 0
    ORDER BY 1
    ON DUPLICATE KEY UPDATE post_score = bench_forum_person_counters.post_score + VALUES(post_score);
END;

DROP TRIGGER IF EXISTS bench_count_comments_insert;
CREATE TRIGGER bench_count_comments_insert AFTER INSERT ON bench_forum_comments FOR EACH ROW
BEGIN
    IF (NOT NEW.deleted AND NOT NEW.removed) THEN
        INSERT INTO bench_forum_post_counters (post_id, day, slot, comments)
        VALUES (NEW.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE comments = comments + 1;
    END IF;
    IF EXISTS (SELECT 1 FROM bench_forum_communities WHERE bench_forum_communities.id = NEW.community_id)
        AND (NOT NEW.deleted AND NOT NEW.removed) THEN
        INSERT INTO bench_forum_community_counters (community_id, day, slot, comments)
        VALUES (NEW.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE comments = comments + 1;
    END IF;
    IF (NOT NEW.deleted AND NOT NEW.removed) THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_count)
        VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE comment_count = comment_count + 1;
    END IF;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_comments_update;
CREATE TRIGGER bench_count_comments_update AFTER UPDATE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF NOT (OLD.post_id <=> NEW.post_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.deleted <=> OLD.deleted
                AND same.post_id <=> OLD.post_id
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        IF (NOT OLD.deleted AND NOT OLD.removed) THEN
            INSERT INTO bench_forum_post_counters (post_id, day, slot, comments)
            VALUES (OLD.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE comments = comments - 1;
        END IF;
        IF (NOT NEW.deleted AND NOT NEW.removed) THEN
            INSERT INTO bench_forum_post_counters (post_id, day, slot, comments)
            VALUES (NEW.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE comments = comments + 1;
        END IF;
    END IF;
    IF NOT (OLD.community_id <=> NEW.community_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.community_id <=> OLD.community_id
                AND same.deleted <=> OLD.deleted
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        IF EXISTS (SELECT 1 FROM bench_forum_communities WHERE bench_forum_communities.id = OLD.community_id)
            AND (NOT OLD.deleted AND NOT OLD.removed) THEN
            INSERT INTO bench_forum_community_counters (community_id, day, slot, comments)
            VALUES (OLD.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE comments = comments - 1;
        END IF;
        IF EXISTS (SELECT 1 FROM bench_forum_communities WHERE bench_forum_communities.id = NEW.community_id)
            AND (NOT NEW.deleted AND NOT NEW.removed) THEN
            INSERT INTO bench_forum_community_counters (community_id, day, slot, comments)
            VALUES (NEW.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE comments = comments + 1;
        END IF;
    END IF;
    IF NOT (OLD.creator_id <=> NEW.creator_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.creator_id <=> OLD.creator_id
                AND same.deleted <=> OLD.deleted
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        IF (NOT OLD.deleted AND NOT OLD.removed) THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_count)
            VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE comment_count = comment_count - 1;
        END IF;
        IF (NOT NEW.deleted AND NOT NEW.removed) THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_count)
            VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE comment_count = comment_count + 1;
        END IF;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comments_delete;
CREATE TRIGGER bench_count_comments_delete AFTER DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF (NOT OLD.deleted AND NOT OLD.removed) THEN
        INSERT INTO bench_forum_post_counters (post_id, day, slot, comments)
        VALUES (OLD.post_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE comments = comments - 1;
    END IF;
    IF EXISTS (SELECT 1 FROM bench_forum_communities WHERE bench_forum_communities.id = OLD.community_id)
        AND (NOT OLD.deleted AND NOT OLD.removed) THEN
        INSERT INTO bench_forum_community_counters (community_id, day, slot, comments)
        VALUES (OLD.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE comments = comments - 1;
    END IF;
    IF (NOT OLD.deleted AND NOT OLD.removed) THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_count)
        VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE comment_count = comment_count - 1;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_comments_of_post_id;
CREATE TRIGGER bench_count_comments_of_post_id BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_community_counters (community_id, day, slot, comments)
    SELECT community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(comments)
    FROM (
        SELECT counted.community_id, -1 AS comments
        FROM (
            SELECT * FROM bench_forum_comments
            WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
            FOR UPDATE
        ) AS counted
        WHERE EXISTS (SELECT 1 FROM bench_forum_communities WHERE bench_forum_communities.id = counted.community_id)
            AND (NOT counted.deleted AND NOT counted.removed)
    ) AS changes
    GROUP BY 1
    HAVING SUM(comments) <> 0
    ORDER BY 1
    ON DUPLICATE KEY UPDATE comments = bench_forum_community_counters.comments + VALUES(comments);
    INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_count)
    SELECT person_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(comment_count)
    FROM (
        SELECT counted.creator_id AS person_id, -1 AS comment_count
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
    ON DUPLICATE KEY UPDATE comment_count = bench_forum_person_counters.comment_count + VALUES(comment_count);
END;

DROP TRIGGER IF EXISTS bench_count_comments_after_post_id;
CREATE TRIGGER bench_count_comments_after_post_id AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_community_counters (community_id, day, slot, comments)
    SELECT community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(comments)
    FROM (
        SELECT counted.community_id, 1 AS comments
        FROM (
            SELECT * FROM bench_forum_comments
            WHERE (post_id <=> OLD.id) AND @@foreign_key_checks
            FOR UPDATE
        ) AS counted
        WHERE EXISTS (SELECT 1 FROM bench_forum_communities WHERE bench_forum_communities.id = counted.community_id)
            AND (NOT counted.deleted AND NOT counted.removed)
    ) AS changes
    GROUP BY 1
    HAVING SUM(comments) <> 0
    ORDER BY 1
    ON DUPLICATE KEY UPDATE comments = bench_forum_community_counters.comments + VALUES(comments);
    INSERT INTO bench_forum_person_counters (person_id, day, slot, comment_count)
    SELECT person_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32,
        SUM(comment_count)
    FROM (
        SELECT counted.creator_id AS person_id, 1 AS comment_count
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
    ON DUPLICATE KEY UPDATE comment_count = bench_forum_person_counters.comment_count + VALUES(comment_count);
END;

DROP TRIGGER IF EXISTS bench_count_site_comments_insert;
CREATE TRIGGER bench_count_site_comments_insert AFTER INSERT ON bench_forum_comments FOR EACH ROW
BEGIN
    IF (NEW.local AND NOT NEW.deleted AND NOT NEW.removed) THEN
        INSERT INTO bench_forum_site_counters (day, slot, comments)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE comments = comments + 1;
    END IF;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_site_comments_update;
CREATE TRIGGER bench_count_site_comments_update AFTER UPDATE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF NOT ((OLD.local AND NOT OLD.deleted AND NOT OLD.removed) <=> (NEW.local AND NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_comments AS same
            WHERE same.id = OLD.id
                AND same.deleted <=> OLD.deleted
                AND same.local <=> OLD.local
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        IF (OLD.local AND NOT OLD.deleted AND NOT OLD.removed) THEN
            INSERT INTO bench_forum_site_counters (day, slot, comments)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE comments = comments - 1;
        END IF;
        IF (NEW.local AND NOT NEW.deleted AND NOT NEW.removed) THEN
            INSERT INTO bench_forum_site_counters (day, slot, comments)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE comments = comments + 1;
        END IF;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_site_comments_delete;
CREATE TRIGGER bench_count_site_comments_delete AFTER DELETE ON bench_forum_comments FOR EACH ROW
BEGIN
    IF (OLD.local AND NOT OLD.deleted AND NOT OLD.removed) THEN
        INSERT INTO bench_forum_site_counters (day, slot, comments)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE comments = comments - 1;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_site_comments_of_post_id;
CREATE TRIGGER bench_count_site_comments_of_post_id BEFORE DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_site_counters (day, slot, comments)
    SELECT DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(comments)
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
    ON DUPLICATE KEY UPDATE comments = bench_forum_site_counters.comments + VALUES(comments);
END;

DROP TRIGGER IF EXISTS bench_count_site_comments_after_post_id;
CREATE TRIGGER bench_count_site_comments_after_post_id AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    INSERT INTO bench_forum_site_counters (day, slot, comments)
    SELECT DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, SUM(comments)
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
    ON DUPLICATE KEY UPDATE comments = bench_forum_site_counters.comments + VALUES(comments);
END;

DROP TRIGGER IF EXISTS bench_count_posts_insert;
CREATE TRIGGER bench_count_posts_insert AFTER INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    IF (NOT NEW.deleted AND NOT NEW.removed) THEN
        INSERT INTO bench_forum_community_counters (community_id, day, slot, posts)
        VALUES (NEW.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE posts = posts + 1;
    END IF;
    IF (NOT NEW.deleted AND NOT NEW.removed) THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, post_count)
        VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE post_count = post_count + 1;
    END IF;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_posts_update;
CREATE TRIGGER bench_count_posts_update AFTER UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT (OLD.community_id <=> NEW.community_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.community_id <=> OLD.community_id
                AND same.deleted <=> OLD.deleted
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        IF (NOT OLD.deleted AND NOT OLD.removed) THEN
            INSERT INTO bench_forum_community_counters (community_id, day, slot, posts)
            VALUES (OLD.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE posts = posts - 1;
        END IF;
        IF (NOT NEW.deleted AND NOT NEW.removed) THEN
            INSERT INTO bench_forum_community_counters (community_id, day, slot, posts)
            VALUES (NEW.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE posts = posts + 1;
        END IF;
    END IF;
    IF NOT (OLD.creator_id <=> NEW.creator_id
        AND (NOT OLD.deleted AND NOT OLD.removed) <=> (NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.creator_id <=> OLD.creator_id
                AND same.deleted <=> OLD.deleted
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        IF (NOT OLD.deleted AND NOT OLD.removed) THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, post_count)
            VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE post_count = post_count - 1;
        END IF;
        IF (NOT NEW.deleted AND NOT NEW.removed) THEN
            INSERT INTO bench_forum_person_counters (person_id, day, slot, post_count)
            VALUES (NEW.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE post_count = post_count + 1;
        END IF;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_posts_delete;
CREATE TRIGGER bench_count_posts_delete AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF (NOT OLD.deleted AND NOT OLD.removed) THEN
        INSERT INTO bench_forum_community_counters (community_id, day, slot, posts)
        VALUES (OLD.community_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE posts = posts - 1;
    END IF;
    IF (NOT OLD.deleted AND NOT OLD.removed) THEN
        INSERT INTO bench_forum_person_counters (person_id, day, slot, post_count)
        VALUES (OLD.creator_id, DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE post_count = post_count - 1;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_site_posts_insert;
CREATE TRIGGER bench_count_site_posts_insert AFTER INSERT ON bench_forum_posts FOR EACH ROW
BEGIN
    IF (NEW.local AND NOT NEW.deleted AND NOT NEW.removed) THEN
        INSERT INTO bench_forum_site_counters (day, slot, posts)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
        ON DUPLICATE KEY UPDATE posts = posts + 1;
    END IF;
END;

-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
DROP TRIGGER IF EXISTS bench_count_site_posts_update;
CREATE TRIGGER bench_count_site_posts_update AFTER UPDATE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF NOT ((OLD.local AND NOT OLD.deleted AND NOT OLD.removed) <=> (NEW.local AND NOT NEW.deleted AND NOT NEW.removed))
        AND NOT EXISTS (SELECT 1 FROM bench_forum_posts AS same
            WHERE same.id = OLD.id
                AND same.deleted <=> OLD.deleted
                AND same.local <=> OLD.local
                AND same.removed <=> OLD.removed
            LOCK IN SHARE MODE) THEN
        IF (OLD.local AND NOT OLD.deleted AND NOT OLD.removed) THEN
            INSERT INTO bench_forum_site_counters (day, slot, posts)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
            ON DUPLICATE KEY UPDATE posts = posts - 1;
        END IF;
        IF (NEW.local AND NOT NEW.deleted AND NOT NEW.removed) THEN
            INSERT INTO bench_forum_site_counters (day, slot, posts)
            VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, 1)
            ON DUPLICATE KEY UPDATE posts = posts + 1;
        END IF;
    END IF;
END;

DROP TRIGGER IF EXISTS bench_count_site_posts_delete;
CREATE TRIGGER bench_count_site_posts_delete AFTER DELETE ON bench_forum_posts FOR EACH ROW
BEGIN
    IF (OLD.local AND NOT OLD.deleted AND NOT OLD.removed) THEN
        INSERT INTO bench_forum_site_counters (day, slot, posts)
        VALUES (DATE '1970-01-01', 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, -1)
        ON DUPLICATE KEY UPDATE posts = posts - 1;
    END IF;
END;

UNLOCK TABLES;
SET sql_mode = @sql_mode_before;
