-- The position up to which each access log is counted. A log is identified by its first line.
CREATE TABLE imports (
    id     TEXT   NOT NULL PRIMARY KEY,
    lines  BIGINT NOT NULL,
    -- The digest of these lines, which shows whether the log has changed.
    digest TEXT   NOT NULL
);
