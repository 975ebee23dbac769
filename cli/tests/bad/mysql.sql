CREATE TABLE key_order_counters (
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, article_id, slot)
);
CREATE TABLE type_counters (
    article_id BIGINT NOT NULL, day DATETIME NOT NULL, slot INTEGER NOT NULL,
    views FLOAT NOT NULL DEFAULT 0, saves MEDIUMINT UNSIGNED NOT NULL DEFAULT 0,
    is_hot BOOLEAN NOT NULL DEFAULT 0, shares INTEGER DEFAULT 0, likes BIGINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot)
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
CREATE TABLE id_counters (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    UNIQUE KEY by_entity (article_id, day, slot)
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
CREATE TABLE collation_counters (
    path VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (path, day, slot)
);
CREATE TABLE articles (id BIGINT PRIMARY KEY);
