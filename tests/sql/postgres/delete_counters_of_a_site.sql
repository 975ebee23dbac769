-- delete_counters(site_counters::table).execute(conn)

BEGIN;

DELETE
FROM "site_counters"
WHERE 1 = 0;

SELECT COUNT(DISTINCT 1)
FROM "site_counters";

INSERT INTO "site_counters" AS diesel_counters_stored ("slot", "day")
SELECT (SELECT $1 + $2 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($3, $4) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE CASE WHEN $5 > 1 THEN COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER)
FROM (SELECT generate_series(0, 32766) AS number) AS numbers
WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number)
LIMIT 1), pg_backend_pid()) ELSE 0 END END % $6)), row.*
FROM unnest($7) AS row
ON CONFLICT ("day", "slot") DO UPDATE
SET "slot" = (excluded."slot");
-- [0, 1, 0, 1, 1, 1, [1970-01-01]]

SELECT COUNT(DISTINCT 1)
FROM "site_counters"
WHERE ("day" <> $1 OR "slot" > 0 OR "hits" <> 0 OR "errors" <> 0);
-- [1970-01-01]

DELETE
FROM "site_counters";

DELETE
FROM "site_counters";

COMMIT;

