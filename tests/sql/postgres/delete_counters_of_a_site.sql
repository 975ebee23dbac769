-- delete_counters(site_counters::table).of(()).execute(conn)

BEGIN;

SELECT COUNT(*)
FROM pg_policy
WHERE polrelid = CAST($diesel_counters$"site_counters"$diesel_counters$ AS regclass) AND polcmd <> 'a' AND row_security_active(polrelid) AND EXISTS (SELECT 1
FROM unnest(polroles) AS role
WHERE CASE WHEN role = 0 THEN TRUE ELSE pg_has_role(role, 'USAGE') END) AND (CAST(polqual AS TEXT) LIKE '%:varattno 0 %' OR EXISTS (SELECT 1
FROM pg_depend
WHERE classid = CAST('pg_policy' AS regclass) AND objid = pg_policy.oid AND refobjid = polrelid AND deptype = 'n' AND refobjsubid NOT IN (SELECT attnum
FROM pg_attribute
WHERE attrelid = polrelid AND attname IN ($1))));
-- [""]

SELECT DISTINCT 1
FROM "site_counters"
ORDER BY 1;

INSERT INTO "site_counters" AS diesel_counters_stored ("slot", "day")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4) AS row
ON CONFLICT ("day", "slot") DO UPDATE
SET "slot" = (excluded."slot");
-- [0, 1, 0, [1970-01-01]]

SELECT DISTINCT 1
FROM "site_counters"
WHERE ("day" <> $1 OR "slot" <> $2 OR "hits" <> 0 OR "errors" <> 0)
ORDER BY 1;
-- [1970-01-01, 0]

SELECT COUNT(*)
FROM (SELECT 1
FROM "site_counters" FOR UPDATE) AS diesel_counters_locked;

DELETE
FROM "site_counters";

SELECT COUNT(*)
FROM (SELECT 1
FROM "site_counters" FOR UPDATE) AS diesel_counters_locked;

COMMIT;

