-- delete_counters(site_counters::table).of(()).execute(conn)

BEGIN;

DELETE
FROM "site_counters"
WHERE 1 = 0;

SELECT DISTINCT 1
FROM "site_counters"
ORDER BY 1;

INSERT INTO "site_counters" AS diesel_counters_stored ("slot", "day")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4) AS row
ON CONFLICT ("day", "slot") DO UPDATE
SET "slot" = (excluded."slot");
-- [0, 1, 0, [1970-01-01]]

SELECT DISTINCT 1
FROM "site_counters"
WHERE ("day" <> $1 OR "slot" > 0 OR "hits" <> 0 OR "errors" <> 0)
ORDER BY 1;
-- [1970-01-01]

DELETE
FROM "site_counters";

DELETE
FROM "site_counters";

COMMIT;

