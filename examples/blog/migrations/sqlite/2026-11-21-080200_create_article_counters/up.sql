CREATE TABLE article_counters (
    article_id BIGINT   NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    -- The checks keep other programs from storing anything but integers: SQLite would take them, and
    -- its own arithmetic turns into floating point when it overflows.
    views      BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    likes      BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(likes) = 'integer'),
    comments   BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(comments) = 'integer'),
    PRIMARY KEY (article_id, day, slot)
) WITHOUT ROWID;
