-- The batches that the buffer of page views has written, so that none is written twice.
CREATE TABLE counter_buffers (
    id    BIGINT NOT NULL PRIMARY KEY,
    batch BIGINT NOT NULL,
    day   DATE   NOT NULL
);
