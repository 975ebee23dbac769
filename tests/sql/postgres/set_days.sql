-- set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn)

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

INSERT INTO "article_counters" AS diesel_counters_stored ("slot", "article_id", "day", "views")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("article_id", "day", "slot") DO UPDATE
SET "views" = diesel_counters_stored."views" + excluded."views";
-- [0, 1, 0, [1, 2], [1970-01-01, 1970-01-01], [0, 0]]

SELECT "diesel_counters_number", CAST(COALESCE(SUM("views"), 0) AS BIGINT)
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, 1), ($3, $4, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "article_counters" ON "article_id" = diesel_counters_key AND "day" = diesel_counters_key_1
WHERE CASE WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*)
FROM (SELECT 1
FROM "article_counters"
WHERE "article_id" IN ($5, $6) FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END
GROUP BY "diesel_counters_number";
-- [1, 2026-03-02, 2, 2026-03-08, 1, 2]

INSERT INTO "article_counters" AS diesel_counters_stored ("slot", "article_id", "day", "views")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("article_id", "day", "slot") DO UPDATE
SET "views" = diesel_counters_stored."views" + excluded."views";
-- [0, 1, 0, [1, 2], [2026-03-02, 2026-03-08], [0, 0]]

SELECT "diesel_counters_number", "views"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, 1), ($3, $4, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "article_counters" ON "article_id" = diesel_counters_key AND "day" = diesel_counters_key_1 AND "slot" = $5;
-- [1, 2026-03-02, 2, 2026-03-08, 0]

INSERT INTO "article_counters" AS diesel_counters_stored ("slot", "article_id", "day", "views")
SELECT (SELECT CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($1, $2) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $3 END), row.*
FROM unnest($4, $5, $6) AS row
ON CONFLICT ("article_id", "day", "slot") DO UPDATE
SET "views" = diesel_counters_stored."views" + excluded."views";
-- [0, 1, 0, [1, 2], [2026-03-02, 2026-03-08], [-4, 4]]

SELECT "diesel_counters_number", "views"
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES ($1, $2, 1), ($3, $4, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "article_counters" ON "article_id" = diesel_counters_key AND "day" = diesel_counters_key_1 AND "slot" = $5;
-- [1, 2026-03-02, 2, 2026-03-08, 0]

COMMIT;

