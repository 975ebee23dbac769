-- A federated forum: people post in communities, comment and vote. Rows of other servers are not `local`.
CREATE TABLE bench_forum_people (
    id INTEGER NOT NULL PRIMARY KEY,
    post_count INTEGER NOT NULL DEFAULT 0,
    post_score INTEGER NOT NULL DEFAULT 0,
    comment_count INTEGER NOT NULL DEFAULT 0,
    comment_score INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE bench_forum_communities (
    id INTEGER NOT NULL PRIMARY KEY,
    -- The counts of the others are those that their servers send.
    local BOOLEAN NOT NULL DEFAULT TRUE,
    posts INTEGER NOT NULL DEFAULT 0,
    comments INTEGER NOT NULL DEFAULT 0
);
-- It has one row.
CREATE TABLE bench_forum_site (
    id INTEGER NOT NULL PRIMARY KEY,
    posts INTEGER NOT NULL DEFAULT 0,
    comments INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE bench_forum_posts (
    id INTEGER NOT NULL PRIMARY KEY,
    community_id INTEGER NOT NULL,
    creator_id INTEGER NOT NULL,
    local BOOLEAN NOT NULL DEFAULT TRUE,
    removed BOOLEAN NOT NULL DEFAULT FALSE,
    deleted BOOLEAN NOT NULL DEFAULT FALSE,
    upvotes INTEGER NOT NULL DEFAULT 0,
    downvotes INTEGER NOT NULL DEFAULT 0,
    score INTEGER NOT NULL DEFAULT 0,
    comments INTEGER NOT NULL DEFAULT 0,
    FOREIGN KEY (community_id) REFERENCES bench_forum_communities (id),
    FOREIGN KEY (creator_id) REFERENCES bench_forum_people (id)
);
CREATE INDEX bench_forum_posts_by_score ON bench_forum_posts (score, id);
-- The program copies the community of the post, and the creator of what is voted on.
CREATE TABLE bench_forum_comments (
    id INTEGER NOT NULL PRIMARY KEY,
    post_id INTEGER NOT NULL,
    community_id INTEGER NOT NULL,
    creator_id INTEGER NOT NULL,
    local BOOLEAN NOT NULL DEFAULT TRUE,
    removed BOOLEAN NOT NULL DEFAULT FALSE,
    deleted BOOLEAN NOT NULL DEFAULT FALSE,
    upvotes INTEGER NOT NULL DEFAULT 0,
    downvotes INTEGER NOT NULL DEFAULT 0,
    score INTEGER NOT NULL DEFAULT 0,
    FOREIGN KEY (creator_id) REFERENCES bench_forum_people (id), -- Not on MySQL, for columns.
    FOREIGN KEY (post_id) REFERENCES bench_forum_posts (id) ON DELETE CASCADE
);
CREATE INDEX bench_forum_comments_by_score ON bench_forum_comments (score, id);
CREATE TABLE bench_forum_post_votes (
    post_id INTEGER NOT NULL,
    person_id INTEGER NOT NULL,
    creator_id INTEGER NOT NULL,
    vote SMALLINT NOT NULL,
    PRIMARY KEY (post_id, person_id),
    FOREIGN KEY (person_id) REFERENCES bench_forum_people (id), -- Not on MySQL, for columns.
    FOREIGN KEY (post_id) REFERENCES bench_forum_posts (id) ON DELETE CASCADE
);
CREATE TABLE bench_forum_comment_votes (
    comment_id INTEGER NOT NULL,
    person_id INTEGER NOT NULL,
    creator_id INTEGER NOT NULL,
    vote SMALLINT NOT NULL,
    PRIMARY KEY (comment_id, person_id),
    FOREIGN KEY (person_id) REFERENCES bench_forum_people (id), -- Not on MySQL, for columns.
    FOREIGN KEY (comment_id) REFERENCES bench_forum_comments (id) ON DELETE CASCADE
);

-- The counter tables of this crate.
CREATE TABLE bench_forum_post_counters (
    post_id INTEGER NOT NULL,
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    upvotes BIGINT NOT NULL DEFAULT 0,
    downvotes BIGINT NOT NULL DEFAULT 0,
    score BIGINT NOT NULL DEFAULT 0,
    comments BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (post_id, day, slot),
    FOREIGN KEY (post_id) REFERENCES bench_forum_posts (id) ON DELETE CASCADE
);
CREATE TABLE bench_forum_comment_counters (
    comment_id INTEGER NOT NULL,
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    upvotes BIGINT NOT NULL DEFAULT 0,
    downvotes BIGINT NOT NULL DEFAULT 0,
    score BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (comment_id, day, slot),
    FOREIGN KEY (comment_id) REFERENCES bench_forum_comments (id) ON DELETE CASCADE
);
CREATE TABLE bench_forum_person_counters (
    person_id INTEGER NOT NULL,
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    post_count BIGINT NOT NULL DEFAULT 0,
    post_score BIGINT NOT NULL DEFAULT 0,
    comment_count BIGINT NOT NULL DEFAULT 0,
    comment_score BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (person_id, day, slot),
    FOREIGN KEY (person_id) REFERENCES bench_forum_people (id) ON DELETE CASCADE
);
CREATE TABLE bench_forum_community_counters (
    community_id INTEGER NOT NULL,
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    posts BIGINT NOT NULL DEFAULT 0,
    comments BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (community_id, day, slot),
    FOREIGN KEY (community_id) REFERENCES bench_forum_communities (id) ON DELETE CASCADE
);
CREATE TABLE bench_forum_site_counters (
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    posts BIGINT NOT NULL DEFAULT 0,
    comments BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, slot)
);
