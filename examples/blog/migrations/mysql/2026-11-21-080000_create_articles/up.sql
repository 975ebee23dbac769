-- IF NOT EXISTS, because MySQL cannot roll back DDL. If a start is killed before the migration is
-- recorded as done, the next start runs it again.
CREATE TABLE IF NOT EXISTS articles (
    id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- Paths differ by case and accents. MySQL cannot index a whole TEXT.
    path       VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE,
    title      TEXT         NOT NULL,
    body       TEXT         NOT NULL,
    -- Without a default, MariaDB would also set it at each update.
    created_at TIMESTAMP    NOT NULL DEFAULT CURRENT_TIMESTAMP
) DEFAULT CHARACTER SET utf8mb4;
