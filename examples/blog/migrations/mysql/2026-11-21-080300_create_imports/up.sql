-- How far each access log is counted. A log is known by its first line.
CREATE TABLE IF NOT EXISTS imports (
    id      VARCHAR(64) NOT NULL PRIMARY KEY,
    `lines` BIGINT      NOT NULL,
    -- Of all those lines, to notice a log that was changed.
    digest  VARCHAR(64) NOT NULL
) DEFAULT CHARACTER SET utf8mb4;
