-- A counter table for `articles`, on MySQL and MariaDB. Copy this into your own migration, and
-- change the table, its key, the counters, and the period in the comment, as in counter_table!: day,
-- week, month, year or total. The command reads the comment.
--
-- If the key is a text with a foreign key, it must have the collation of the column that it refers
-- to. If it is a text without a foreign key, use COLLATE utf8mb4_0900_bin on MySQL and
-- utf8mb4_nopad_bin on MariaDB. With the default collation, 'Foo' and 'foo' would be counted as one;
-- with utf8mb4_bin, 'foo ' and 'foo' would.
CREATE TABLE article_counters (
    article_id BIGINT   NOT NULL,
    day        DATE     NOT NULL COMMENT 'diesel_counters: period = day',
    slot       SMALLINT NOT NULL,
    views      BIGINT   NOT NULL DEFAULT 0,
    likes      BIGINT   NOT NULL DEFAULT 0,
    comments   BIGINT   NOT NULL DEFAULT 0,
    -- The only unique index there is, in this order: ON DUPLICATE KEY UPDATE acts on any.
    PRIMARY KEY (article_id, day, slot),
    -- Optional. With it, a count locks the article's own row in share mode until its transaction
    -- ends. Without it, delete an article's counters in the transaction that deletes the article.
    -- The cascade: REPLACE INTO articles can delete counts, because it can delete the row that it
    -- replaces. Use on_conflict().do_update() instead of Diesel's replace_into.
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
);
