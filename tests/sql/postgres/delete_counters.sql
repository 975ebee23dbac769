-- delete_counters(article_counters::table).of(1_i64).execute(conn)

BEGIN;

SELECT COUNT(*)
FROM pg_policy
WHERE polrelid = CAST($diesel_counters$"article_counters"$diesel_counters$ AS regclass) AND polcmd <> 'a' AND row_security_active(polrelid) AND EXISTS (SELECT 1
FROM unnest(polroles) AS role
WHERE CASE WHEN role = 0 THEN TRUE ELSE pg_has_role(role, 'USAGE') END) AND (CAST(polqual AS TEXT) LIKE '%:varattno 0 %' OR EXISTS (SELECT 1
FROM pg_depend
WHERE classid = CAST('pg_policy' AS regclass) AND objid = pg_policy.oid AND refobjid = polrelid AND deptype = 'n' AND refobjsubid NOT IN (SELECT attnum
FROM pg_attribute
WHERE attrelid = polrelid AND attname IN ($1, $2))));
-- ["article_id", ""]

SELECT DISTINCT "article_id"
FROM "article_counters"
WHERE "article_id" = $1
ORDER BY "article_id";
-- [1]

INSERT INTO "article_counters" AS diesel_counters_stored ("slot", "article_id", "day")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5) AS row
ON CONFLICT ("article_id", "day", "slot") DO UPDATE
SET "slot" = (excluded."slot");
-- [0, 1, 0, [1], [1970-01-01]]

SELECT DISTINCT "article_id"
FROM "article_counters"
WHERE "article_id" = ANY($1) AND ("day" <> $2 OR "slot" <> $3 OR "views" <> 0 OR "likes" <> 0 OR "comments" <> 0)
ORDER BY "article_id";
-- [[1], 1970-01-01, 0]

SELECT COUNT(*)
FROM (SELECT 1
FROM "article_counters"
WHERE "article_id" = ANY($1) FOR UPDATE) AS diesel_counters_locked;
-- [[1]]

DELETE
FROM "article_counters"
WHERE "article_id" = ANY($1);
-- [[1]]

SELECT COUNT(*)
FROM (SELECT 1
FROM "article_counters"
WHERE "article_id" = ANY($1) FOR UPDATE) AS diesel_counters_locked;
-- [[1]]

COMMIT;

