-- increment((views, likes)).of(1_i64).by((2, 3)).on(monday()).execute(conn)

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views", "likes")
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
    $3,
    $4
)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views", "likes" = counters."likes" + excluded."likes";
-- [1, 2026-03-02, 2, 3]

