-- What the race of the front page counts: the comments of an article, in one row of race_articles, or
-- in the slots of race_counters.
CREATE TABLE IF NOT EXISTS race_articles (
    id       BIGINT NOT NULL PRIMARY KEY,
    comments BIGINT NOT NULL DEFAULT 0
);

-- Without a foreign key: its share lock on the article would deadlock with the UPDATE of one row.
CREATE TABLE IF NOT EXISTS race_comments (
    id         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    article_id BIGINT NOT NULL,
    body       TEXT   NOT NULL
);

CREATE TABLE IF NOT EXISTS race_counters (
    article_id BIGINT   NOT NULL,
    day        DATE     NOT NULL COMMENT 'diesel_counters: period = day',
    slot       SMALLINT NOT NULL,
    comments   BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (article_id, day, slot),
    FOREIGN KEY (article_id) REFERENCES race_articles (id) ON DELETE CASCADE
);
