-- increment(site_counters::hits).on(monday()).execute(conn)

INSERT INTO "site_counters" AS counters ("day", "slot", "hits")
VALUES (
    $1,
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
    $2
)
ON CONFLICT ("day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits";
-- [2026-03-02, 1]

