-- take(tickets::remaining).of(1_i64).by(2).execute(conn)

WITH diesel_counters_free AS (SELECT "slot" AS diesel_counters_slot, "remaining" AS diesel_counters_left
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2 AND "remaining" >= $3 AND "slot" >= (SELECT $4 + LEAST(octet_length(COALESCE(NULLIF(current_setting($5, true), ''), current_setting($6, pg_catalog.ts_rewrite('a', $7) IS NULL))), $8))
ORDER BY "slot"
LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE "tickets"
SET "remaining" = "remaining" - $9
FROM diesel_counters_free
WHERE "event_id" = $10 AND "day" = $11 AND "slot" = diesel_counters_slot AND "remaining" >= $12 AND ("remaining" = diesel_counters_left OR pg_catalog.current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')) RETURNING CASE WHEN "remaining" = diesel_counters_left - $13 THEN 0 ELSE CAST('a trigger of the table has kept the units that were taken, ' || "remaining" AS INTEGER) END;
-- [1, 1970-01-01, 2, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, 2, 1, 1970-01-01, 2, 2]

SELECT CAST(COALESCE(SUM("remaining"), 0) AS BIGINT)
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2;
-- [1, 1970-01-01]

WITH diesel_counters_free AS (SELECT "slot" AS diesel_counters_slot, "remaining" AS diesel_counters_left
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2 AND "remaining" >= $3 AND "slot" < (SELECT $4 + LEAST(octet_length(COALESCE(NULLIF(current_setting($5, true), ''), current_setting($6, pg_catalog.ts_rewrite('a', $7) IS NULL))), $8))
ORDER BY "slot"
LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE "tickets"
SET "remaining" = "remaining" - $9
FROM diesel_counters_free
WHERE "event_id" = $10 AND "day" = $11 AND "slot" = diesel_counters_slot AND "remaining" >= $12 AND ("remaining" = diesel_counters_left OR pg_catalog.current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')) RETURNING CASE WHEN "remaining" = diesel_counters_left - $13 THEN 0 ELSE CAST('a trigger of the table has kept the units that were taken, ' || "remaining" AS INTEGER) END;
-- [1, 1970-01-01, 2, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, 2, 1, 1970-01-01, 2, 2]

SELECT CAST(COALESCE(SUM("remaining"), 0) AS BIGINT)
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2;
-- [1, 1970-01-01]

BEGIN;

SELECT COUNT(*)
FROM pg_policy
WHERE polrelid = CAST($diesel_counters$"tickets"$diesel_counters$ AS regclass) AND polcmd <> 'a' AND row_security_active(polrelid) AND EXISTS (SELECT 1
FROM unnest(polroles) AS role
WHERE CASE WHEN role = 0 THEN TRUE ELSE pg_has_role(role, 'USAGE') END) AND (CAST(polqual AS TEXT) LIKE '%:varattno 0 %' OR EXISTS (SELECT 1
FROM pg_depend
WHERE classid = CAST('pg_policy' AS regclass) AND objid = pg_policy.oid AND refobjid = polrelid AND deptype = 'n' AND refobjsubid NOT IN (SELECT attnum
FROM pg_attribute
WHERE attrelid = polrelid AND attname IN ($1, $2))));
-- ["event_id", ""]

INSERT INTO "tickets" AS diesel_counters_stored ("slot", "event_id", "day", "remaining")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("event_id", "day", "slot") DO UPDATE
SET "remaining" = diesel_counters_stored."remaining" + excluded."remaining";
-- [0, 1, 0, [1], [1970-01-01], [0]]

SELECT "slot", "remaining"
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2
ORDER BY "slot" FOR UPDATE;
-- [1, 1970-01-01]

SELECT "slot", "remaining"
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2
ORDER BY "slot" FOR UPDATE;
-- [1, 1970-01-01]

UPDATE "tickets"
SET "remaining" = CASE WHEN "slot" < $1 AND "slot" >= $2 THEN $3 WHEN "slot" < $4 AND "slot" >= $5 THEN $6 ELSE 0 END
WHERE "event_id" = $7 AND "day" = $8 AND "slot" IN ($9, $10);
-- [1, 1, 0, 2, 1, 0, 1, 1970-01-01, 2, 3]

SELECT "slot", "remaining"
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2
ORDER BY "slot" FOR UPDATE;
-- [1, 1970-01-01]

COMMIT;

