-- counting_transaction(conn, |tx| { tx.count(increment(views).of(1_i64).on(monday())); tx.count(increment(likes).of(2_i64).on(sunday())); QueryResult::Ok(()) })

BEGIN;

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "likes", "views")
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
    "likes",
    "views"
FROM unnest($1, $2, $3, $4) AS added ("article_id", "day", "likes", "views")
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "likes" = counters."likes" + excluded."likes", "views" = counters."views" + excluded."views";
-- [[1, 2], [2026-03-02, 2026-03-08], [0, 1], [1, 0]]

COMMIT;

