-- The shapes of a real application's statistics (liamw1/oxibooru, migration 013): a score that sums
-- weights, rows without a user, rows that count for two entities, and one row for the whole site,
-- kept by row triggers of its own. A part of it, in our own words. The columns of counts are new.
CREATE TABLE users (
    id BIGINT PRIMARY KEY,
    comment_count BIGINT NOT NULL DEFAULT 0,
    favorite_count BIGINT NOT NULL DEFAULT 0,
    upload_count BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE posts (
    id BIGINT PRIMARY KEY,
    user_id BIGINT REFERENCES users ON DELETE SET NULL,
    file_size BIGINT NOT NULL DEFAULT 0,
    thumbnail_size BIGINT NOT NULL DEFAULT 0,
    comment_count BIGINT NOT NULL DEFAULT 0,
    favorite_count BIGINT NOT NULL DEFAULT 0,
    tag_count BIGINT NOT NULL DEFAULT 0,
    score BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE tags (id BIGINT PRIMARY KEY);
CREATE TABLE pools (id BIGINT PRIMARY KEY, post_count BIGINT NOT NULL DEFAULT 0);
CREATE TABLE pool_posts (
    pool_id BIGINT NOT NULL REFERENCES pools ON DELETE CASCADE,
    post_id BIGINT NOT NULL REFERENCES posts ON DELETE CASCADE,
    PRIMARY KEY (pool_id, post_id)
);
CREATE TABLE post_favorites (
    post_id BIGINT NOT NULL REFERENCES posts ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users ON DELETE CASCADE,
    PRIMARY KEY (post_id, user_id)
);
CREATE TABLE comments (
    id BIGINT PRIMARY KEY,
    user_id BIGINT REFERENCES users ON DELETE SET NULL,
    post_id BIGINT NOT NULL REFERENCES posts ON DELETE CASCADE
);
CREATE TABLE post_scores (
    post_id BIGINT NOT NULL REFERENCES posts ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users ON DELETE CASCADE,
    score SMALLINT NOT NULL,
    PRIMARY KEY (post_id, user_id)
);
CREATE TABLE post_tags (
    post_id BIGINT NOT NULL REFERENCES posts ON DELETE CASCADE,
    tag_id BIGINT NOT NULL REFERENCES tags ON DELETE CASCADE,
    PRIMARY KEY (post_id, tag_id)
);

CREATE TABLE statistics (only_one BOOLEAN PRIMARY KEY, comments BIGINT NOT NULL);
CREATE TABLE tag_statistics (tag_id BIGINT PRIMARY KEY REFERENCES tags ON DELETE CASCADE, usages BIGINT NOT NULL DEFAULT 0);
INSERT INTO statistics VALUES (true, 0);

CREATE FUNCTION count_comments_by_hand() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE statistics SET comments = comments + CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER count_comments AFTER INSERT OR DELETE ON comments
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_comments_by_hand();

CREATE FUNCTION count_tags() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE tag_statistics SET usages = usages + CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END
        WHERE tag_id = COALESCE(NEW.tag_id, OLD.tag_id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER count_tags AFTER INSERT OR DELETE ON post_tags
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_tags();

INSERT INTO users SELECT generate_series(1, 5);
INSERT INTO tags SELECT generate_series(1, 5);
INSERT INTO tag_statistics (tag_id) SELECT id FROM tags;
INSERT INTO pools SELECT generate_series(1, 3);
INSERT INTO posts SELECT i, NULLIF(i % 6, 0), i * 1000, 10 FROM generate_series(1, 12) AS i;
INSERT INTO comments SELECT i, NULLIF(i % 6, 0), i % 12 + 1 FROM generate_series(1, 40) AS i;
INSERT INTO post_scores SELECT i, j, (i + j) % 3 - 1 FROM generate_series(1, 12) AS i, generate_series(1, 5) AS j;
INSERT INTO post_tags SELECT i, j FROM generate_series(1, 12) AS i, generate_series(1, 5) AS j WHERE (i + j) % 2 = 0;
INSERT INTO pool_posts SELECT i % 3 + 1, i FROM generate_series(1, 12) AS i;
INSERT INTO post_favorites SELECT i, i % 5 + 1 FROM generate_series(1, 12) AS i;

-- The counter tables, as `generate migration` writes them.
CREATE TABLE site_counters (
    day DATE NOT NULL, slot SMALLINT NOT NULL,
    posts BIGINT NOT NULL DEFAULT 0, comments BIGINT NOT NULL DEFAULT 0, disk_usage BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, slot)
);
CREATE TABLE tag_counters (
    tag_id BIGINT NOT NULL REFERENCES tags ON DELETE CASCADE, day DATE NOT NULL, slot SMALLINT NOT NULL,
    usages BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tag_id, day, slot)
);
