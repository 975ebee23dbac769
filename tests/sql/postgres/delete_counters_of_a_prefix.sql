-- delete_counters(version_counters::table).of(1).execute(conn)

BEGIN;

SELECT COUNT(*)
FROM pg_policy
WHERE polrelid = CAST($diesel_counters$"version_counters"$diesel_counters$ AS regclass) AND polcmd <> 'a' AND row_security_active(polrelid) AND EXISTS (SELECT 1
FROM unnest(polroles) AS role
WHERE CASE WHEN role = 0 THEN TRUE ELSE pg_has_role(role, 'USAGE') END) AND (CAST(polqual AS TEXT) LIKE '%:varattno 0 %' OR EXISTS (SELECT 1
FROM pg_depend
WHERE classid = CAST('pg_policy' AS regclass) AND objid = pg_policy.oid AND refobjid = polrelid AND deptype = 'n' AND refobjsubid NOT IN (SELECT attnum
FROM pg_attribute
WHERE attrelid = polrelid AND attname IN ($1, $2, $3))));
-- ["crate_id", "number", ""]

SELECT DISTINCT "crate_id", "number"
FROM "version_counters"
WHERE "crate_id" = $1
ORDER BY "crate_id", "number";
-- [1]

INSERT INTO "version_counters" AS diesel_counters_stored ("slot", "crate_id", "number", "day")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE
SET "slot" = (excluded."slot");
-- [0, 1, 0, [1], ["1.0"], [1970-01-01]]

SELECT DISTINCT "crate_id", "number"
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($1, $2)) AND ("day" <> $3 OR "slot" <> $4 OR "downloads" <> 0 OR "failures" <> 0)
ORDER BY "crate_id", "number";
-- [[1], ["1.0"], 1970-01-01, 0]

SELECT COUNT(*)
FROM (SELECT 1
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($1, $2)) FOR UPDATE) AS diesel_counters_locked;
-- [[1], ["1.0"]]

DELETE
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($1, $2));
-- [[1], ["1.0"]]

SELECT COUNT(*)
FROM (SELECT 1
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($1, $2)) FOR UPDATE) AS diesel_counters_locked;
-- [[1], ["1.0"]]

SELECT DISTINCT "crate_id", "number"
FROM "version_counters"
WHERE "crate_id" = $1
ORDER BY "crate_id", "number";
-- [1]

COMMIT;

