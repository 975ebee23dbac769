-- How far each access log is counted. A log is known by its first line.
CREATE TABLE imports (
    id     TEXT   PRIMARY KEY,
    lines  BIGINT NOT NULL,
    -- Of all those lines, to notice a log that was changed.
    digest TEXT   NOT NULL
);
