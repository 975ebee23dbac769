CREATE TABLE key_order_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, article_id, slot)
);
CREATE TABLE default_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT DEFAULT 0, likes BIGINT NOT NULL, comments BIGINT NOT NULL DEFAULT 1,
    note VARCHAR(20) NOT NULL,
    PRIMARY KEY (article_id, day, slot)
);
INSERT INTO default_counters VALUES (1, '2026-01-01', 1, NULL, 0, 0, '');
CREATE TABLE unique_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot),
    UNIQUE KEY by_day (article_id, day)
);
CREATE TABLE index_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot),
    KEY by_views (views), KEY with_likes (day, likes)
);
CREATE TABLE slots_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
);
CREATE TABLE collation_counters (
    path VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (path, day, slot)
);
CREATE TABLE articles (id BIGINT PRIMARY KEY);
