-- increment(odd_name::views_).of(1).on(monday()).execute(conn)

INSERT INTO "odd `""name" AS counters ("the ""entity`", "select", "slot's", "views; --")
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
    ) % 4,
    $3
)
ON CONFLICT ("the ""entity`", "select", "slot's") DO UPDATE SET
    "views; --" = counters."views; --" + excluded."views; --";
-- [1, 2026-03-02, 1]

