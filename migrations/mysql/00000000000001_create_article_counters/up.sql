-- A counter table for `articles`, on MySQL and MariaDB: copy this into a migration of your own, and
-- put your table, its key and your counters in. A text key with a foreign key must have the
-- collation of the column that it refers to. Without one, use COLLATE utf8mb4_0900_bin on MySQL and
-- utf8mb4_nopad_bin on MariaDB: the default takes 'Foo' for 'foo', utf8mb4_bin takes 'foo ' for
-- 'foo', and they would be counted as one.
CREATE TABLE article_counters (
    article_id BIGINT   NOT NULL,
    day        DATE     NOT NULL,
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0,
    likes      BIGINT   NOT NULL DEFAULT 0,
    comments   BIGINT   NOT NULL DEFAULT 0,
    -- The only unique index there is, in this order: ON DUPLICATE KEY UPDATE acts on any.
    PRIMARY KEY (article_id, day, slot),
    -- Optional. With it, a slot's first count of a day waits for whoever has the article's own row
    -- locked. Without it, delete an article's counters in the transaction that deletes the article.
    -- The cascade: REPLACE INTO articles can delete counts, because it can delete the row that it
    -- replaces. Use on_conflict().do_update() instead of Diesel's replace_into.
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
);
