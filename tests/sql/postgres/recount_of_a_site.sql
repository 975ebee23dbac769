-- recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn)

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "site_counters" AS diesel_counters_stored ("slot", "day", "hits")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5) AS row
ON CONFLICT ("day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- [0, 1, 0, [1970-01-01], [0]]

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

