-- increment(timeless_counters::views).of(1_i64).execute(conn)

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
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
    ) % 2,
    $3
)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [1, 1970-01-01, 1]

