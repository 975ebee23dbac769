SELECT slot FROM tickets FORCE INDEX (PRIMARY)
WHERE event_id = ? AND day = ? AND remaining >= ? AND slot >= 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32
ORDER BY slot
LIMIT 1
FOR UPDATE SKIP LOCKED;

UPDATE tickets SET remaining = remaining - ? WHERE event_id = ? AND day = ? AND slot = ?;
