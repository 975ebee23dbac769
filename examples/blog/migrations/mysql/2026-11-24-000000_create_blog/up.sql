-- IF NOT EXISTS, because MySQL cannot roll back DDL: if a start is killed in the middle, the next one
-- goes on.
CREATE TABLE IF NOT EXISTS articles (
    id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- Slugs differ by accents. MySQL cannot index a whole TEXT.
    slug       VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE,
    title      TEXT         NOT NULL,
    author     TEXT         NOT NULL,
    body       MEDIUMTEXT   NOT NULL,
    -- Without a default, MariaDB would also set it at each update.
    created_at TIMESTAMP    NOT NULL DEFAULT CURRENT_TIMESTAMP
) DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS comments (
    id         BIGINT    NOT NULL AUTO_INCREMENT PRIMARY KEY,
    article_id BIGINT    NOT NULL,
    author     TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY comments_of_article (article_id, id),
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
) DEFAULT CHARACTER SET utf8mb4;

-- The next migration counts its rows.
CREATE TABLE IF NOT EXISTS article_likes (
    article_id BIGINT      NOT NULL,
    visitor    VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_on DATE        NOT NULL,
    PRIMARY KEY (article_id, visitor),
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
);

-- The counter table, as in the library's reference migration.
CREATE TABLE IF NOT EXISTS article_counters (
    article_id BIGINT   NOT NULL,
    day        DATE     NOT NULL COMMENT 'diesel_counters: period = day',
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0,
    likes      BIGINT   NOT NULL DEFAULT 0,
    comments   BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot),
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
);
