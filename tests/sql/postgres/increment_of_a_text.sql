-- increment(page_counters::hits).of("/").on(monday()).execute(conn)

INSERT INTO "page_counters" AS counters ("path", "day", "slot", "hits")
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
ON CONFLICT ("path", "day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits";
-- ["/", 2026-03-02, 1]

