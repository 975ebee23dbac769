-- Posts and their tags, as liamw1/oxibooru has them.
CREATE TABLE bench_posts (
    id BIGINT NOT NULL PRIMARY KEY,
    -- This crate's triggers count in it.
    tag_count BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE bench_tags (
    id BIGINT NOT NULL PRIMARY KEY
);
CREATE TABLE bench_post_tags (
    post_id BIGINT NOT NULL,
    tag_id BIGINT NOT NULL,
    PRIMARY KEY (post_id, tag_id),
    FOREIGN KEY (post_id) REFERENCES bench_posts (id) ON DELETE CASCADE,
    FOREIGN KEY (tag_id) REFERENCES bench_tags (id) ON DELETE CASCADE
);

-- The plain rows that triggers written by hand count in.
CREATE TABLE bench_post_statistics (
    post_id BIGINT NOT NULL PRIMARY KEY,
    tag_count BIGINT NOT NULL DEFAULT 0,
    FOREIGN KEY (post_id) REFERENCES bench_posts (id) ON DELETE CASCADE
);
CREATE TABLE bench_tag_statistics (
    tag_id BIGINT NOT NULL PRIMARY KEY,
    usage_count BIGINT NOT NULL DEFAULT 0,
    FOREIGN KEY (tag_id) REFERENCES bench_tags (id) ON DELETE CASCADE
);
CREATE TABLE bench_site_statistics (
    post_count BIGINT NOT NULL
);

-- The counter tables of this crate.
CREATE TABLE bench_tag_counters (
    tag_id BIGINT NOT NULL,
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    usage_count BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tag_id, day, slot),
    FOREIGN KEY (tag_id) REFERENCES bench_tags (id) ON DELETE CASCADE
);
CREATE TABLE bench_site_counters (
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    post_count BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, slot)
);
