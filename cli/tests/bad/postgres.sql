CREATE TABLE key_order_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, article_id, slot)
);
CREATE TABLE type_counters (
    article_id BIGINT NOT NULL, day TIMESTAMP NOT NULL, slot INTEGER NOT NULL,
    views INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
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
CREATE TABLE id_counters (
    id BIGSERIAL PRIMARY KEY,
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT by_entity UNIQUE (article_id, day, slot)
);
CREATE TABLE no_key_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE slots_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
);
INSERT INTO slots_counters VALUES
    (1, '2026-01-01', 31, 1), (1, '2026-01-02', 1, 1), (1, '2026-01-03', 1, 1), (1, '2026-01-04', 1, 1),
    (1, '2026-01-05', 1, 1), (1, '2026-01-06', 1, 1), (1, '2026-01-07', 1, 1),
    (1, '2026-01-08', 1, 1), (1, '2026-01-08', 2, 1), (1, '2026-01-08', 3, 1), (2, '2026-01-08', 3, 1);
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE collation_counters (
    path TEXT COLLATE loose NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (path, day, slot)
);
CREATE TABLE articles (id BIGINT PRIMARY KEY);
