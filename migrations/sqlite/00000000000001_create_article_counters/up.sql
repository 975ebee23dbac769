-- A counter table for `articles`. Copy this into your own migration, and change the table, its key
-- and the counters.
--
-- ON DELETE CASCADE takes effect on connections with PRAGMA foreign_keys = ON. There,
-- REPLACE INTO articles deletes counts, because SQLite deletes the row that it replaces. Use
-- on_conflict().do_update() instead of Diesel's replace_into.
CREATE TABLE article_counters (
    article_id BIGINT   NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    -- The command reads this line. In place of day: week, month, year or total, as in counter_table!.
    -- diesel_counters: period = day
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    -- The checks keep other programs from storing anything but integers: SQLite would take them, and
    -- its own arithmetic turns into floating point when it overflows.
    views      BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
    likes      BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(likes) = 'integer'),
    comments   BIGINT   NOT NULL DEFAULT 0 CHECK (typeof(comments) = 'integer'),
    -- WITHOUT ROWID keeps rows in the order of this key: half the bytes, and faster reads.
    PRIMARY KEY (article_id, day, slot)
) WITHOUT ROWID;
