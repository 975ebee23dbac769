-- recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).of_all().execute(conn)

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "site_counters" AS diesel_counters_stored ("day", "slot", "hits")
VALUES ($1, $2 + $3 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($4, $5) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE CASE WHEN $6 > 1 THEN COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER)
FROM (SELECT generate_series(0, 32766) AS number) AS numbers
WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number)
LIMIT 1), pg_backend_pid()) ELSE 0 END END % $7), $8)
ON CONFLICT ("day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [1970-01-01, 0, 1, 0, 1, 1, 1, 0]

WITH "diesel_counters_source" ("diesel_counters_day", "diesel_counters_actual_0") AS (SELECT date('2026-03-02'), COUNT(*)
FROM "comments")
SELECT "diesel_counters_day", CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT), CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
FROM (SELECT "day" AS "diesel_counters_day", SUM("hits") AS "diesel_counters_stored_0", 0 AS "diesel_counters_actual_0"
FROM "site_counters"
WHERE CASE WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*)
FROM (SELECT 1
FROM "site_counters" FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END
GROUP BY "day" UNION ALL
SELECT "diesel_counters_day", 0, SUM("diesel_counters_actual_0")
FROM "diesel_counters_source"
GROUP BY "diesel_counters_day") AS diesel_counters_both
GROUP BY "diesel_counters_day"
HAVING CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT) <> CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
ORDER BY "diesel_counters_day";

COMMIT;

