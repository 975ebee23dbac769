-- What the race of the front page counts: the comments of an article, in one row of race_articles, or
-- in race_counters.
CREATE TABLE race_articles (
    id       INTEGER NOT NULL PRIMARY KEY,
    comments BIGINT  NOT NULL DEFAULT 0
);

-- Without a foreign key, as on MySQL.
CREATE TABLE race_comments (
    id         INTEGER NOT NULL PRIMARY KEY,
    article_id BIGINT  NOT NULL,
    body       TEXT    NOT NULL
);

CREATE TABLE race_counters (
    article_id BIGINT   NOT NULL REFERENCES race_articles (id) ON DELETE CASCADE,
    -- diesel_counters: period = day
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    comments   BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(comments) = 'integer'),
    PRIMARY KEY (article_id, day, slot)
) WITHOUT ROWID;
