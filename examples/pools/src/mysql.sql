CREATE TABLE IF NOT EXISTS articles (
    id          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title       TEXT   NOT NULL,
    total_views BIGINT NOT NULL DEFAULT 0
);
INSERT IGNORE INTO articles VALUES (1, 'Bread on Sundays', 0);

CREATE TABLE IF NOT EXISTS comments (
    id         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    article_id BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
);

CREATE TABLE IF NOT EXISTS article_counters (
    article_id BIGINT   NOT NULL,
    day        DATE     NOT NULL COMMENT 'diesel_counters: period = day',
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0,
    comments   BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot),
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
);
