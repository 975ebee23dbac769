-- For `CounterBuffer`: the number of the last batch that each buffer has written, so that no batch is
-- written twice. Copy this into your own migration as it is. A table serves all buffers.
--
-- A process that is killed leaves its row. Delete rows of days that are long ago from time to time.
CREATE TABLE counter_buffers (
    id    BIGINT NOT NULL PRIMARY KEY,
    batch BIGINT NOT NULL,
    day   DATE   NOT NULL
);
