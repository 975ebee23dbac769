CREATE TABLE article_counters (
    article_id BIGINT   NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0,
    likes      BIGINT   NOT NULL DEFAULT 0,
    comments   BIGINT   NOT NULL DEFAULT 0,
    -- The only index there is, in this order. An index on a counter would make each increment write
    -- it too, and end PostgreSQL's heap-only updates.
    PRIMARY KEY (article_id, day, slot)
);
