-- compact(site_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT pg_try_advisory_lock(hashtext('diesel_counters/merge'), $1::regclass::oid::int);
-- ["\"site_counters\""]

SELECT COUNT(*)
FROM "site_counters"
WHERE "day" < $1 AND "slot" <> 0;
-- [2026-04-01]

SELECT "day", "slot"
FROM "site_counters"
WHERE "day" < $1 AND "slot" <> 0
ORDER BY "day", "slot"
LIMIT 100;
-- [2026-04-01]

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "site_counters" AS counters ("day", "slot", "hits", "errors")
VALUES ($1, $2, 0, 0)
ON CONFLICT ("day", "slot") DO NOTHING;
-- [2026-03-02, 0]

SELECT "day", "slot", *
FROM "site_counters"
WHERE ("day", "slot") IN (VALUES ($1, $2), ($3, $4), ($5, $6))
FOR UPDATE SKIP LOCKED;
-- [2026-03-02, 0, 2026-03-02, 3, 2026-03-02, 5]

INSERT INTO "site_counters" AS counters ("day", "slot", "hits", "errors")
SELECT "day", 0, COALESCE(SUM("hits"), 0), COALESCE(SUM("errors"), 0)
FROM "site_counters"
WHERE ("day", "slot") IN (VALUES ($1, $2), ($3, $4))
GROUP BY "day"
ORDER BY "day"
ON CONFLICT ("day", "slot") DO UPDATE SET
    "hits" = counters."hits" + excluded."hits", "errors" = counters."errors" + excluded."errors";
-- [2026-03-02, 3, 2026-03-02, 5]

DELETE FROM "site_counters"
WHERE ("day", "slot") IN (VALUES ($1, $2), ($3, $4));
-- [2026-03-02, 3, 2026-03-02, 5]

COMMIT;

SELECT "day", "slot"
FROM "site_counters"
WHERE "day" < $1 AND "slot" <> 0 AND ("day", "slot") > ($2, $3)
ORDER BY "day", "slot"
LIMIT 100;
-- [2026-04-01, 2026-03-02, 5]

SELECT COUNT(*)
FROM "site_counters"
WHERE "day" < $1 AND "slot" <> 0;
-- [2026-04-01]

SELECT pg_advisory_unlock(hashtext('diesel_counters/merge'), $1::regclass::oid::int);
-- ["\"site_counters\""]

