CREATE TABLE key_order_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, article_id, slot)
);
CREATE TABLE default_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT DEFAULT 0, likes BIGINT NOT NULL, comments BIGINT NOT NULL DEFAULT 1,
    note TEXT NOT NULL,
    PRIMARY KEY (article_id, day, slot)
);
INSERT INTO default_counters VALUES (1, '2026-01-01', 1, NULL, 0, 0, '');
CREATE TABLE unique_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot),
    CONSTRAINT by_day UNIQUE (article_id, day)
);
CREATE TABLE index_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
);
CREATE INDEX by_views ON index_counters (views DESC);
CREATE INDEX with_likes ON index_counters (day) INCLUDE (likes);
CREATE TABLE slots_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
);
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE collation_counters (
    path TEXT COLLATE loose NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (path, day, slot)
);
CREATE TABLE articles (id BIGINT PRIMARY KEY);
