-- IF NOT EXISTS, because MySQL cannot undo DDL: a start that was killed between this and noting the
-- migration as done can be run again.
CREATE TABLE IF NOT EXISTS articles (
    id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- Paths differ by case and accents; and MySQL cannot index the whole of a TEXT.
    path       VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE,
    title      TEXT         NOT NULL,
    body       TEXT         NOT NULL,
    -- With a default of its own, or MariaDB would also set it at each update.
    created_at TIMESTAMP    NOT NULL DEFAULT CURRENT_TIMESTAMP
) DEFAULT CHARACTER SET utf8mb4;
