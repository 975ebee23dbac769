-- set_counter(site_counters::hits).on(monday()).to(7).execute(conn)

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

INSERT INTO "site_counters" AS diesel_counters_stored ("slot", "day", "hits")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5) AS row
ON CONFLICT ("day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [0, 1, 0, [1970-01-01], [0]]

SELECT "hits"
FROM "site_counters"
WHERE "day" BETWEEN $1 AND $2 AND CASE WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*)
FROM (SELECT 1
FROM "site_counters" FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END;
-- [2026-03-02, 2026-03-02]

INSERT INTO "site_counters" AS diesel_counters_stored ("slot", "day", "hits")
SELECT (SELECT $1 + LEAST(octet_length(COALESCE(NULLIF(current_setting($2, true), ''), current_setting($3, pg_catalog.ts_rewrite('a', $4) IS NULL))), $5)), row.*
FROM unnest($6, $7) AS row
ON CONFLICT ("day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, [2026-03-02], [0]]

SELECT "diesel_counters_number", "hits"
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "site_counters" ON "day" = diesel_counters_key AND "slot" = (SELECT $2 + LEAST(octet_length(COALESCE(NULLIF(current_setting($3, true), ''), current_setting($4, pg_catalog.ts_rewrite('a', $5) IS NULL))), $6));
-- [2026-03-02, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32]

INSERT INTO "site_counters" AS diesel_counters_stored ("slot", "day", "hits")
SELECT (SELECT $1 + LEAST(octet_length(COALESCE(NULLIF(current_setting($2, true), ''), current_setting($3, pg_catalog.ts_rewrite('a', $4) IS NULL))), $5)), row.*
FROM unnest($6, $7) AS row
ON CONFLICT ("day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, [2026-03-02], [4]]

SELECT "diesel_counters_number", "hits"
FROM (SELECT column1 AS diesel_counters_key, CAST(column2 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "site_counters" ON "day" = diesel_counters_key AND "slot" = (SELECT $2 + LEAST(octet_length(COALESCE(NULLIF(current_setting($3, true), ''), current_setting($4, pg_catalog.ts_rewrite('a', $5) IS NULL))), $6));
-- [2026-03-02, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32]

COMMIT;

