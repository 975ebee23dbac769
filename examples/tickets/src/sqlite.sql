PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY,
    visitor BIGINT NOT NULL,
    tickets INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS tickets (
    event_id BIGINT NOT NULL,
    -- diesel_counters: period = total, stock = (remaining)
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    remaining BIGINT NOT NULL DEFAULT 0 CHECK (typeof(remaining) = 'integer' AND remaining >= 0),
    PRIMARY KEY (event_id, day, slot)
);
