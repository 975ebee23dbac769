CREATE TABLE key_order_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    PRIMARY KEY (day, article_id, slot)
);
CREATE TABLE default_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT DEFAULT 0 CHECK (typeof(views) IN ('integer', 'null')),
    likes BIGINT NOT NULL CHECK (typeof("likes")='integer'),
    comments BIGINT NOT NULL DEFAULT 1 CHECK (typeof(comments) = 'integer'),
    PRIMARY KEY (article_id, day, slot)
);
INSERT INTO default_counters VALUES (1, '2026-01-01', 0, NULL, 0, 0);
CREATE TABLE note_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    note TEXT NOT NULL,
    PRIMARY KEY (article_id, day, slot)
);
CREATE TABLE unique_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    PRIMARY KEY (article_id, day, slot)
);
CREATE UNIQUE INDEX by_day ON unique_counters (article_id, day);
CREATE TABLE index_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    PRIMARY KEY (article_id, day, slot)
);
CREATE INDEX by_views ON index_counters (views DESC);
CREATE TABLE real_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
);
INSERT INTO real_counters VALUES (1, '2026-01-01', 0, 9.3e18);
CREATE TABLE collation_counters (
    path TEXT COLLATE NOCASE NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0 CHECK (typeof(hits) = 'integer'),
    PRIMARY KEY (path, day, slot)
);
CREATE TABLE articles (id BIGINT PRIMARY KEY);
