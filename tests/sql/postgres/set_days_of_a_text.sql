-- set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn)

BEGIN;

SELECT COUNT(*)
FROM pg_policy
WHERE polrelid = CAST($diesel_counters$"page_counters"$diesel_counters$ AS regclass) AND polcmd <> 'a' AND row_security_active(polrelid) AND EXISTS (SELECT 1
FROM unnest(polroles) AS role
WHERE CASE WHEN role = 0 THEN TRUE ELSE pg_has_role(role, 'USAGE') END) AND (CAST(polqual AS TEXT) LIKE '%:varattno 0 %' OR EXISTS (SELECT 1
FROM pg_depend
WHERE classid = CAST('pg_policy' AS regclass) AND objid = pg_policy.oid AND refobjid = polrelid AND deptype = 'n' AND refobjsubid NOT IN (SELECT attnum
FROM pg_attribute
WHERE attrelid = polrelid AND attname IN ($1, $2))));
-- ["path", ""]

INSERT INTO "page_counters" AS diesel_counters_stored ("slot", "path", "day", "hits")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("path", "day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [0, 1, 0, ["/"], [1970-01-01], [0]]

SELECT CAST("path" AS TEXT)
FROM "page_counters"
WHERE "path" IN ($1) AND "day" = $2 AND "slot" = $3;
-- ["/", 1970-01-01, 0]

SELECT "diesel_counters_number", CAST(COALESCE(SUM("hits"), 0) AS BIGINT)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "page_counters" ON "path" = diesel_counters_key AND "day" = diesel_counters_key_1
WHERE CASE WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*)
FROM (SELECT 1
FROM "page_counters"
WHERE "path" IN ($3) FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END
GROUP BY "diesel_counters_number";
-- ["/", 2026-03-02, "/"]

INSERT INTO "page_counters" AS diesel_counters_stored ("slot", "path", "day", "hits")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("path", "day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [0, 1, 0, ["/"], [2026-03-02], [0]]

SELECT "diesel_counters_number", "hits"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "page_counters" ON "path" = diesel_counters_key AND "day" = diesel_counters_key_1 AND "slot" = $3;
-- ["/", 2026-03-02, 0]

INSERT INTO "page_counters" AS diesel_counters_stored ("slot", "path", "day", "hits")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("path", "day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [0, 1, 0, ["/"], [2026-03-02], [2]]

SELECT "diesel_counters_number", "hits"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "page_counters" ON "path" = diesel_counters_key AND "day" = diesel_counters_key_1 AND "slot" = $3;
-- ["/", 2026-03-02, 0]

COMMIT;

