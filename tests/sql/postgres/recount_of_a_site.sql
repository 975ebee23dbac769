-- recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn)

BEGIN;

SET LOCAL row_security = off;

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

WITH "true_counts" ("day", "actual") AS (SELECT date('2026-03-02'), COUNT(*) FROM "comments")
SELECT "day", CAST(COALESCE(SUM("stored"), 0) AS BIGINT), CAST(COALESCE(SUM("actual"), 0) AS BIGINT)
FROM (
    SELECT "day" AS "day", SUM("hits") AS "stored", 0 AS "actual"
    FROM "site_counters"
    GROUP BY "day"
    UNION ALL
    SELECT "day", 0, "actual"
    FROM "true_counts"
) AS compared
GROUP BY "day"
HAVING SUM("stored") <> SUM("actual")
ORDER BY "day";

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

COMMIT;

