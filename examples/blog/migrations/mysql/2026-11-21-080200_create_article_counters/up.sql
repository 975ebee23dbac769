CREATE TABLE IF NOT EXISTS article_counters (
    article_id BIGINT   NOT NULL,
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0,
    likes      BIGINT   NOT NULL DEFAULT 0,
    comments   BIGINT   NOT NULL DEFAULT 0,
    -- The only unique index there is, in this order: ON DUPLICATE KEY UPDATE acts on any.
    PRIMARY KEY (article_id, day, slot),
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
);
