-- recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>)

BEGIN;

SET LOCAL row_security = off;

WITH "diesel_counters_source" ("diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day", "diesel_counters_actual_0") AS (SELECT "crates"."id", '1.0', date('2026-03-02'), "crates"."total_downloads"
FROM "crates")
SELECT "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day", CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT), CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
FROM (SELECT "crate_id" AS "diesel_counters_entity", "number" AS "diesel_counters_entity_1", "day" AS "diesel_counters_day", SUM("downloads") AS "diesel_counters_stored_0", 0 AS "diesel_counters_actual_0"
FROM "version_counters"
WHERE "crate_id" = $1
GROUP BY "crate_id", "number", "day" UNION ALL
SELECT "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day", 0, "diesel_counters_actual_0"
FROM "diesel_counters_source") AS diesel_counters_both
WHERE "diesel_counters_entity" = $2
GROUP BY "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day"
HAVING CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT) <> CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
ORDER BY "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day";
-- [1, 1]

COMMIT;

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "version_counters" AS diesel_counters_stored ("slot", "crate_id", "number", "day", "downloads")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6, $7) AS row
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE
SET "downloads" = diesel_counters_stored."downloads" + excluded."downloads";
-- [0, 1, 0, [1], ["1.0"], [1970-01-01], [0]]

WITH "diesel_counters_source" ("diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day", "diesel_counters_actual_0") AS (SELECT "crates"."id", '1.0', date('2026-03-02'), "crates"."total_downloads"
FROM "crates")
SELECT "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day", CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT), CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
FROM (SELECT "crate_id" AS "diesel_counters_entity", "number" AS "diesel_counters_entity_1", "day" AS "diesel_counters_day", SUM("downloads") AS "diesel_counters_stored_0", 0 AS "diesel_counters_actual_0"
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($1, $2)) AND CASE WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*)
FROM (SELECT 1
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($3, $4)) FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END
GROUP BY "crate_id", "number", "day" UNION ALL
SELECT "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day", 0, "diesel_counters_actual_0"
FROM "diesel_counters_source"
WHERE "diesel_counters_entity" = ANY(ARRAY(SELECT "crate_id"
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($5, $6)))) AND "diesel_counters_entity_1" = ANY(ARRAY(SELECT "number"
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT *
FROM unnest($7, $8))))) AS diesel_counters_both
WHERE ("diesel_counters_entity", "diesel_counters_entity_1") IN (SELECT *
FROM unnest($9, $10))
GROUP BY "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day"
HAVING CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT) <> CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
ORDER BY "diesel_counters_entity", "diesel_counters_entity_1", "diesel_counters_day";
-- [[1], ["1.0"], [1], ["1.0"], [1], ["1.0"], [1], ["1.0"], [1], ["1.0"]]

INSERT INTO "version_counters" AS diesel_counters_stored ("slot", "crate_id", "number", "day", "downloads")
SELECT (SELECT $1 + LEAST(octet_length(COALESCE(NULLIF(current_setting($2, true), ''), current_setting($3, pg_catalog.ts_rewrite('a', $4) IS NULL))), $5)), row.*
FROM unnest($6, $7, $8, $9) AS row
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE
SET "downloads" = diesel_counters_stored."downloads" + excluded."downloads";
-- [0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, [1], ["1.0"], [2026-03-02], [0]]

SELECT "diesel_counters_number", "downloads"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, $3, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "version_counters" ON "crate_id" = diesel_counters_key AND "number" = diesel_counters_key_1 AND "day" = diesel_counters_key_2 AND "slot" = (SELECT $4 + LEAST(octet_length(COALESCE(NULLIF(current_setting($5, true), ''), current_setting($6, pg_catalog.ts_rewrite('a', $7) IS NULL))), $8));
-- [1, "1.0", 2026-03-02, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32]

INSERT INTO "version_counters" AS diesel_counters_stored ("slot", "crate_id", "number", "day", "downloads")
SELECT (SELECT $1 + LEAST(octet_length(COALESCE(NULLIF(current_setting($2, true), ''), current_setting($3, pg_catalog.ts_rewrite('a', $4) IS NULL))), $5)), row.*
FROM unnest($6, $7, $8, $9) AS row
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE
SET "downloads" = diesel_counters_stored."downloads" + excluded."downloads";
-- [0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, [1], ["1.0"], [2026-03-02], [-3]]

SELECT "diesel_counters_number", "downloads"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, $3, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "version_counters" ON "crate_id" = diesel_counters_key AND "number" = diesel_counters_key_1 AND "day" = diesel_counters_key_2 AND "slot" = (SELECT $4 + LEAST(octet_length(COALESCE(NULLIF(current_setting($5, true), ''), current_setting($6, pg_catalog.ts_rewrite('a', $7) IS NULL))), $8));
-- [1, "1.0", 2026-03-02, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32]

COMMIT;

