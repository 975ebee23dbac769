-- recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>)

BEGIN;

SET LOCAL row_security = off;

WITH
"true_counts" ("entity", "entity_1", "day", "actual") AS (
    SELECT "crates"."id", '1.0', date('2026-03-02'), "crates"."total_downloads"
    FROM "crates"
)
SELECT
    "entity",
    "entity_1",
    "day",
    CAST(COALESCE(SUM("stored"), 0) AS BIGINT),
    CAST(COALESCE(SUM("actual"), 0) AS BIGINT)
FROM (
    SELECT
        "crate_id" AS "entity",
        "number" AS "entity_1",
        "day" AS "day",
        SUM("downloads") AS "stored",
        0 AS "actual"
    FROM "version_counters"
    WHERE "crate_id" = $1
    GROUP BY "crate_id", "number", "day"
    UNION ALL
    SELECT "entity", "entity_1", "day", 0, "actual"
    FROM "true_counts"
) AS compared
WHERE "entity" = $2
GROUP BY "entity", "entity_1", "day"
HAVING SUM("stored") <> SUM("actual")
ORDER BY "entity", "entity_1", "day";
-- [1, 1]

COMMIT;

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "version_counters" AS counters ("crate_id", "number", "day", "slot", "downloads")
VALUES ($1, $2, $3, 0, $4)
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE SET
    "downloads" = counters."downloads" + excluded."downloads";
-- [1, "1.0", 1970-01-01, 0]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "version_counters"
WHERE
    ("crate_id", "number") IN (SELECT * FROM unnest($1, $2))
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [[1], ["1.0"]]

WITH
"true_counts" ("entity", "entity_1", "day", "actual") AS (
    SELECT "crates"."id", '1.0', date('2026-03-02'), "crates"."total_downloads"
    FROM "crates"
)
SELECT
    "entity",
    "entity_1",
    "day",
    CAST(COALESCE(SUM("stored"), 0) AS BIGINT),
    CAST(COALESCE(SUM("actual"), 0) AS BIGINT)
FROM (
    SELECT
        "crate_id" AS "entity",
        "number" AS "entity_1",
        "day" AS "day",
        SUM("downloads") AS "stored",
        0 AS "actual"
    FROM "version_counters"
    WHERE ("crate_id", "number") IN (SELECT * FROM unnest($1, $2))
    GROUP BY "crate_id", "number", "day"
    UNION ALL
    SELECT "entity", "entity_1", "day", 0, "actual"
    FROM "true_counts"
    WHERE
        "entity" = ANY(
            ARRAY(
                SELECT "crate_id"
                FROM "version_counters"
                WHERE ("crate_id", "number") IN (SELECT * FROM unnest($3, $4))
            )
        )
        AND "entity_1" = ANY(
            ARRAY(
                SELECT "number"
                FROM "version_counters"
                WHERE ("crate_id", "number") IN (SELECT * FROM unnest($5, $6))
            )
        )
) AS compared
WHERE ("entity", "entity_1") IN (SELECT * FROM unnest($7, $8))
GROUP BY "entity", "entity_1", "day"
HAVING SUM("stored") <> SUM("actual")
ORDER BY "entity", "entity_1", "day";
-- [[1], ["1.0"], [1], ["1.0"], [1], ["1.0"], [1], ["1.0"]]

INSERT INTO "version_counters" AS counters ("crate_id", "number", "day", "slot", "downloads")
VALUES (
    $1,
    $2,
    $3,
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
    $4
)
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE SET
    "downloads" = counters."downloads" + excluded."downloads";
-- [1, "1.0", 2026-03-02, -1]

COMMIT;

