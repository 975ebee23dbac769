-- set_counter(site_counters::hits).on(monday()).to(7).execute(conn)

BEGIN;

INSERT INTO "site_counters" AS counters ("day", "slot", "hits")
VALUES ($1, 0, $2)
ON CONFLICT ("day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits";
-- [1970-01-01, 0]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "site_counters"
WHERE current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;

SELECT CAST(COALESCE(SUM("hits"), 0) AS BIGINT)
FROM "site_counters"
WHERE "day" BETWEEN $1 AND $2;
-- [2026-03-02, 2026-03-02]

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
-- [2026-03-02, 5]

COMMIT;

