-- set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO "version_counters" AS counters ("crate_id", "number", "day", "slot", "downloads")
SELECT "crate_id", "number", "day", 0, "downloads"
FROM unnest($1, $2, $3, $4) AS added ("crate_id", "number", "day", "downloads")
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE SET
    "downloads" = counters."downloads" + excluded."downloads";
-- [[1, 2], ["1.0", "1.0"], [1970-01-01, 1970-01-01], [0, 0]]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "version_counters"
WHERE
    ("crate_id", "number") IN (SELECT * FROM unnest($1, $2))
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [[1, 2], ["1.0", "1.0"]]

SELECT CAST("crate_id" AS TEXT), CAST("number" AS TEXT)
FROM "version_counters"
WHERE ("crate_id", "number") IN (VALUES ($1, $2), ($3, $4)) AND "day" = $5 AND "slot" = 0;
-- [1, "1.0", 2, "1.0", 1970-01-01]

SELECT wanted.ordinality, CAST(COALESCE(SUM("downloads"), 0) AS BIGINT)
FROM (
    SELECT column1 AS entity, column2 AS entity_1, column3 AS entity_2, CAST(column4 AS BIGINT) AS ordinality
    FROM (VALUES ($1, $2, $3, 1), ($4, $5, $6, 2)) AS listed
) AS wanted
JOIN
    "version_counters" AS counters ON counters."crate_id" = wanted.entity
    AND counters."number" = wanted.entity_1
    AND counters."day" = wanted.entity_2
GROUP BY wanted.ordinality;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02]

INSERT INTO "version_counters" AS counters ("crate_id", "number", "day", "slot", "downloads")
SELECT "crate_id", "number", "day", 0, "downloads"
FROM unnest($1, $2, $3, $4) AS added ("crate_id", "number", "day", "downloads")
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE SET
    "downloads" = counters."downloads" + excluded."downloads";
-- [[1, 2], ["1.0", "1.0"], [2026-03-02, 2026-03-02], [2, 3]]

COMMIT;

