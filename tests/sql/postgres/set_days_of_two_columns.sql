-- set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn)

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

INSERT INTO "version_counters" AS diesel_counters_stored ("slot", "crate_id", "number", "day", "downloads")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6, $7) AS row
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE
SET "downloads" = diesel_counters_stored."downloads" + excluded."downloads";
-- [0, 1, 0, [1, 2], ["1.0", "1.0"], [1970-01-01, 1970-01-01], [0, 0]]

SELECT CAST("crate_id" AS TEXT), CAST("number" AS TEXT)
FROM "version_counters"
WHERE ("crate_id", "number") IN (VALUES ($1, $2), ($3, $4)) AND "day" = $5 AND "slot" = $6;
-- [1, "1.0", 2, "1.0", 1970-01-01, 0]

SELECT "diesel_counters_number", CAST(COALESCE(SUM("downloads"), 0) AS BIGINT)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, $3, 1), ($4, $5, $6, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "version_counters" ON "crate_id" = diesel_counters_key AND "number" = diesel_counters_key_1 AND "day" = diesel_counters_key_2
WHERE CASE WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*)
FROM (SELECT 1
FROM "version_counters"
WHERE ("crate_id", "number") IN (VALUES ($7, $8), ($9, $10)) FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END
GROUP BY "diesel_counters_number";
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02, 1, "1.0", 2, "1.0"]

INSERT INTO "version_counters" AS diesel_counters_stored ("slot", "crate_id", "number", "day", "downloads")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6, $7) AS row
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE
SET "downloads" = diesel_counters_stored."downloads" + excluded."downloads";
-- [0, 1, 0, [1, 2], ["1.0", "1.0"], [2026-03-02, 2026-03-02], [0, 0]]

SELECT "diesel_counters_number", "downloads"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, $3, 1), ($4, $5, $6, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "version_counters" ON "crate_id" = diesel_counters_key AND "number" = diesel_counters_key_1 AND "day" = diesel_counters_key_2 AND "slot" = $7;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02, 0]

INSERT INTO "version_counters" AS diesel_counters_stored ("slot", "crate_id", "number", "day", "downloads")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6, $7) AS row
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE
SET "downloads" = diesel_counters_stored."downloads" + excluded."downloads";
-- [0, 1, 0, [1, 2], ["1.0", "1.0"], [2026-03-02, 2026-03-02], [3, 3]]

SELECT "diesel_counters_number", "downloads"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, $3, 1), ($4, $5, $6, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "version_counters" ON "crate_id" = diesel_counters_key AND "number" = diesel_counters_key_1 AND "day" = diesel_counters_key_2 AND "slot" = $7;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02, 0]

COMMIT;

