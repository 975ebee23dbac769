CREATE TABLE articles (
    -- AUTOINCREMENT, so that a new article never gets the counts of a deleted one.
    id         INTEGER   NOT NULL PRIMARY KEY AUTOINCREMENT,
    slug       TEXT      NOT NULL UNIQUE,
    title      TEXT      NOT NULL,
    author     TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE comments (
    id         INTEGER   NOT NULL PRIMARY KEY AUTOINCREMENT,
    article_id BIGINT    NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    author     TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL
);
CREATE INDEX comments_of_article ON comments (article_id, id);

-- The next migration counts its rows.
CREATE TABLE article_likes (
    article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    visitor    TEXT   NOT NULL,
    created_on DATE   NOT NULL,
    PRIMARY KEY (article_id, visitor)
);

-- The counter table, as in the library's reference migration.
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
