-- compact(site_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT CASE WHEN pg_try_advisory_lock(hashtext('diesel_counters/merge'), CAST(CAST($diesel_counters$"site_counters"$diesel_counters$ AS regclass) AS oid)::int4) THEN CAST(1 AS BIGINT) ELSE 0 END;

SELECT COUNT(*)
FROM "site_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0);
-- [1000-01-01, 2026-04-01]

SELECT "day", "slot"
FROM "site_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0)
ORDER BY "day", "slot"
LIMIT 100;
-- [1000-01-01, 2026-04-01]

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "site_counters" AS diesel_counters_stored ("day", "slot", "hits", "errors")
VALUES ($1, CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($2, $3) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $4 END, 0, 0)
ON CONFLICT ("day", "slot") DO NOTHING;
-- [2026-03-02, 0, 1, 0]

SELECT "day", "slot", "hits", "errors", *
FROM "site_counters"
WHERE ("day", "slot") IN (VALUES ($1, $2), ($3, $4), ($5, $6), ($7, $8)) FOR UPDATE SKIP LOCKED;
-- [2026-03-02, 0, 2026-03-02, 1, 2026-03-02, 3, 2026-03-02, 5]

INSERT INTO "site_counters" AS diesel_counters_stored ("day", "slot", "hits", "errors")
SELECT "day", $1, CAST(COALESCE(SUM("hits"), 0) AS BIGINT), CAST(COALESCE(SUM("errors"), 0) AS BIGINT)
FROM "site_counters"
WHERE ("day", "slot") IN (VALUES ($2, $3), ($4, $5), ($6, $7))
GROUP BY "day"
ORDER BY "day"
ON CONFLICT ("day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits", "errors" = diesel_counters_stored."errors" + excluded."errors";
-- [0, 2026-03-02, 3, 2026-03-02, 5, 2026-03-02, 1]

DELETE
FROM "site_counters"
WHERE ("day", "slot") IN (VALUES ($1, $2), ($3, $4), ($5, $6));
-- [2026-03-02, 3, 2026-03-02, 5, 2026-03-02, 1]

SELECT "day", "slot", "hits", "errors"
FROM "site_counters"
WHERE ("day", "slot") IN (VALUES ($1, $2), ($3, $4), ($5, $6), ($7, $8));
-- [2026-03-02, 0, 2026-03-02, 3, 2026-03-02, 5, 2026-03-02, 1]

COMMIT;

SELECT "day", "slot"
FROM "site_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0) AND "day" >= $3 AND ("day" > $4 OR "slot" > $5)
ORDER BY "day", "slot"
LIMIT 100;
-- [1000-01-01, 2026-04-01, 2026-03-02, 2026-03-02, 5]

SELECT COUNT(*)
FROM "site_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0);
-- [1000-01-01, 2026-04-01]

SELECT CASE WHEN pg_advisory_unlock(hashtext('diesel_counters/merge'), CAST(CAST($diesel_counters$"site_counters"$diesel_counters$ AS regclass) AS oid)::int4) THEN CAST(1 AS BIGINT) ELSE 0 END;

