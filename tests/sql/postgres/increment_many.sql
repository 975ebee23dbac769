-- increment(views).on(monday()).of_many([(2_i64, 5), (1, 1), (3, 2)]).execute(conn)

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
SELECT
    "article_id",
    "day",
    (
        SELECT
            1 + COALESCE(
                NULLIF(current_setting('diesel_counters.number', true), '')::int,
                (
                    SELECT set_config('diesel_counters.number', n::text, false)::int
                    FROM generate_series(0, 999) AS n
                    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n)
                    LIMIT 1
                ),
                pg_backend_pid()
            ) % 32
    ),
    "views"
FROM unnest($1, $2, $3) AS added ("article_id", "day", "views")
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [[1, 2, 3], [2026-03-02, 2026-03-02, 2026-03-02], [1, 5, 2]]

