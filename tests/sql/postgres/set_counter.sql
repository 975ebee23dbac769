-- set_counter(weekly_counters::views).of(1_i64).to(7).execute(conn)

BEGIN;

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
VALUES ($1, $2, 0, $3)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [1, 1970-01-01, 0]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "article_counters"
WHERE
    "article_id" = $1
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [1]

SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT)
FROM "article_counters"
WHERE "article_id" = $1;
-- [1]

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
    ) % 32,
    $3
)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [1, 2026-12-28, 5]

COMMIT;

