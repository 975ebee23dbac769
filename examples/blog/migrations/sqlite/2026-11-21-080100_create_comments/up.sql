CREATE TABLE comments (
    id         INTEGER   NOT NULL PRIMARY KEY AUTOINCREMENT,
    article_id BIGINT    NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    author     TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL
);

CREATE INDEX comments_of_article ON comments (article_id, id);
