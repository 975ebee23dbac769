CREATE TABLE IF NOT EXISTS orders (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    visitor BIGINT NOT NULL,
    tickets INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS tickets (
    event_id BIGINT NOT NULL,
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0),
    PRIMARY KEY (event_id, day, slot)
);
COMMENT ON COLUMN tickets.day IS 'diesel_counters: period = total, stock = (remaining)';
