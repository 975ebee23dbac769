CREATE TABLE articles (
    id BIGINT PRIMARY KEY,
    title TEXT NOT NULL,
    total_views BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE comments (
    id BIGINT AUTO_INCREMENT PRIMARY KEY,
    article_id BIGINT NOT NULL,
    body TEXT NOT NULL,
    FOREIGN KEY (article_id) REFERENCES articles (id)
);
CREATE TABLE user_counters (
    user_id INTEGER NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    visits BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, day, slot)
);
CREATE TABLE page_counters (
    path VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (path, day, slot)
);
CREATE TABLE file_counters (
    digest VARBINARY(255) NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    downloads BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (digest, day, slot)
);
CREATE TABLE `odd ``"name` (
    `the "entity``` INTEGER NOT NULL, `select` DATE NOT NULL, `slot's` SMALLINT NOT NULL,
    `views; --` BIGINT NOT NULL DEFAULT 0, `größe` BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (`the "entity```, `select`, `slot's`)
);
CREATE TABLE site_counters (
    day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0,
    errors BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, slot)
);
