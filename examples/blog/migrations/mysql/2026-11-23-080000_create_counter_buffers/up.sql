-- The batches that the buffer of page views has written, so that none is written twice.
CREATE TABLE IF NOT EXISTS counter_buffers (
    id    BIGINT NOT NULL PRIMARY KEY,
    batch BIGINT NOT NULL,
    day   DATE   NOT NULL
);
