-- The position up to which each access log is counted. A log is identified by its first line.
CREATE TABLE IF NOT EXISTS imports (
    id      VARCHAR(64) NOT NULL PRIMARY KEY,
    `lines` BIGINT      NOT NULL,
    -- The digest of these lines, which shows whether the log has changed.
    digest  VARCHAR(64) NOT NULL
) DEFAULT CHARACTER SET utf8mb4;
