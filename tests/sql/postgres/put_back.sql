-- put_back(tickets::remaining).of(1_i64).by(2).execute(conn)

INSERT INTO "tickets" AS counters ("event_id", "day", "slot", "remaining")
VALUES (
    $1,
    $2,
    1 + COALESCE(
        NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (
            SELECT set_config('diesel_counters.number', n::text, false)::int
            FROM generate_series(0, 999) AS n
            WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n)
            LIMIT 1
        ),
        pg_backend_pid()
    ) % 32,
    $3
)
ON CONFLICT ("event_id", "day", "slot") DO UPDATE SET
    "remaining" = counters."remaining" + excluded."remaining";
-- [1, 1970-01-01, 2]

