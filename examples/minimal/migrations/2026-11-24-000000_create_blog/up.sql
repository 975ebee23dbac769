CREATE TABLE articles (
    id    INTEGER NOT NULL PRIMARY KEY,
    title TEXT    NOT NULL
);
INSERT INTO articles (title) VALUES ('Bread on Sundays'), ('A bicycle in the rain');

CREATE TABLE comments (
    id         INTEGER NOT NULL PRIMARY KEY,
    article_id BIGINT  NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    body       TEXT    NOT NULL
);

-- As in the reference migration: `migrations/sqlite` of diesel_counters.
CREATE TABLE article_counters (
    article_id BIGINT   NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    -- diesel_counters: period = day
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    likes      BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(likes) = 'integer'),
    comments   BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(comments) = 'integer'),
    PRIMARY KEY (article_id, day, slot)
) WITHOUT ROWID;
