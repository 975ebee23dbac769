CREATE TABLE IF NOT EXISTS comments (
    id         BIGINT    NOT NULL AUTO_INCREMENT PRIMARY KEY,
    article_id BIGINT    NOT NULL,
    author     TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY comments_of_article (article_id, id),
    FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
) DEFAULT CHARACTER SET utf8mb4;
