-- set_counter(site_counters::hits).of_days([((), monday(), 3)]).execute(conn)

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

SELECT wanted.ordinality, CAST(COALESCE(SUM("hits"), 0) AS BIGINT)
FROM (
    SELECT column1 AS entity, CAST(column2 AS BIGINT) AS ordinality
    FROM (VALUES ($1, 1)) AS listed
) AS wanted
JOIN "site_counters" AS counters ON counters."day" = wanted.entity
GROUP BY wanted.ordinality;
-- [2026-03-02]

INSERT INTO "site_counters" AS counters ("day", "slot", "hits")
VALUES ($1, 0, $2)
ON CONFLICT ("day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits";
-- [2026-03-02, 1]

COMMIT;

