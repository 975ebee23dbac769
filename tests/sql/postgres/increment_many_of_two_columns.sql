-- increment(reaction_counters::given).on(monday()).of_many([((1_i64, "👍"), 5), ((1, "🎉"), 1)]).execute(conn)

INSERT INTO "reaction_counters" AS counters ("article_id", "emoji", "day", "slot", "given")
SELECT
    "article_id",
    "emoji",
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
    "given"
FROM unnest($1, $2, $3, $4) AS added ("article_id", "emoji", "day", "given")
ON CONFLICT ("article_id", "emoji", "day", "slot") DO UPDATE SET
    "given" = counters."given" + excluded."given";
-- [[1, 1], ["🎉", "👍"], [2026-03-02, 2026-03-02], [1, 5]]

