-- set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO "page_counters" AS counters ("path", "day", "slot", "hits")
VALUES ($1, $2, 0, $3)
ON CONFLICT ("path", "day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits";
-- ["/", 1970-01-01, 0]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "page_counters"
WHERE
    "path" = ANY($1)
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [["/"]]

SELECT CAST("path" AS TEXT)
FROM "page_counters"
WHERE "path" IN ($1) AND "day" = $2 AND "slot" = 0;
-- ["/", 1970-01-01]

SELECT wanted.ordinality, CAST(COALESCE(SUM("hits"), 0) AS BIGINT)
FROM (
    SELECT column1 AS entity, column2 AS entity_1, CAST(column3 AS BIGINT) AS ordinality
    FROM (VALUES ($1, $2, 1)) AS listed
) AS wanted
JOIN
    "page_counters" AS counters ON counters."path" = wanted.entity
    AND counters."day" = wanted.entity_1
GROUP BY wanted.ordinality;
-- ["/", 2026-03-02]

INSERT INTO "page_counters" AS counters ("path", "day", "slot", "hits")
VALUES ($1, $2, 0, $3)
ON CONFLICT ("path", "day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits";
-- ["/", 2026-03-02, 3]

COMMIT;

