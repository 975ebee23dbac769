CREATE TABLE IF NOT EXISTS articles (
    id          INTEGER NOT NULL PRIMARY KEY,
    title       TEXT    NOT NULL,
    total_views BIGINT  NOT NULL DEFAULT 0
);
INSERT OR IGNORE INTO articles (id, title) VALUES (1, 'Bread on Sundays');

CREATE TABLE IF NOT EXISTS comments (
    id         INTEGER NOT NULL PRIMARY KEY,
    article_id BIGINT  NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    body       TEXT    NOT NULL
);

CREATE TABLE IF NOT EXISTS article_counters (
    article_id BIGINT   NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    -- diesel_counters: period = day
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    comments   BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(comments) = 'integer'),
    PRIMARY KEY (article_id, day, slot)
) WITHOUT ROWID;
