-- take(tickets::remaining).of(1_i64).execute(conn)

WITH diesel_counters_free AS (SELECT "slot" AS diesel_counters_slot, "remaining" AS diesel_counters_left
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2 AND "remaining" >= $3 AND "slot" >= (SELECT $4 + LEAST(octet_length(COALESCE(NULLIF(current_setting($5, true), ''), current_setting($6, pg_catalog.ts_rewrite('a', $7) IS NULL))), $8))
ORDER BY "slot"
LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE "tickets"
SET "remaining" = "remaining" - $9
FROM diesel_counters_free
WHERE "event_id" = $10 AND "day" = $11 AND "slot" = diesel_counters_slot AND "remaining" >= $12 AND ("remaining" = diesel_counters_left OR pg_catalog.current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')) RETURNING CASE WHEN "remaining" = diesel_counters_left - $13 THEN 0 ELSE CAST('a trigger of the table has kept the units that were taken, ' || "remaining" AS INTEGER) END;
-- [1, 1970-01-01, 1, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, 1, 1, 1970-01-01, 1, 1]

