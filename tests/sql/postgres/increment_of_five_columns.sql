-- increment(wide_counters::hits).of((1_i16, 2, 3_i64, "d", b"e".as_slice())).on(monday()).execute(conn)

INSERT INTO "wide_counters" AS counters ("a", "b", "c", "d", "e", "day", "slot", "hits")
VALUES (
    $1,
    $2,
    $3,
    $4,
    $5,
    $6,
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
    $7
)
ON CONFLICT ("a", "b", "c", "d", "e", "day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits";
-- [1, 2, 3, "d", [101], 2026-03-02, 1]

