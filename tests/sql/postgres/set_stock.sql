-- set_counter(tickets::remaining).of(1_i64).to(3).execute(conn)

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

INSERT INTO "tickets" AS diesel_counters_stored ("event_id", "day", "slot", "remaining")
VALUES ($1, $2, $3, $4), ($5, $6, $7, $8), ($9, $10, $11, $12)
ON CONFLICT ("event_id", "day", "slot") DO UPDATE
SET "remaining" = diesel_counters_stored."remaining" + excluded."remaining";
-- [1, 1970-01-01, 1, 1, 1, 1970-01-01, 2, 1, 1, 1970-01-01, 3, 1]

SELECT "slot", "remaining"
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2
ORDER BY "slot" FOR UPDATE;
-- [1, 1970-01-01]

COMMIT;

