-- A counter table for `articles`. Copy this into your own migration, and change the table, its key
-- and the counters.
--
-- If you partition it by day, add a partition for the day 1970-01-01. Corrections, deletions and
-- folds write there: FOR VALUES FROM ('1970-01-01') TO ('1970-01-02').
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
-- The command reads it. In place of day: week, month, year or total, as in counter_table!.
COMMENT ON COLUMN article_counters.day IS 'diesel_counters: period = day';
