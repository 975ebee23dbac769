-- delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn)

BEGIN;

DELETE
FROM "reaction_counters"
WHERE 1 = 0;

SELECT MIN("diesel_counters_number")
FROM unnest($1, $2) WITH ORDINALITY AS diesel_counters_wanted ("diesel_counters_key", "diesel_counters_key_1", "diesel_counters_number")
JOIN "reaction_counters" ON "article_id" = diesel_counters_key AND "emoji" = diesel_counters_key_1
GROUP BY "article_id", "emoji";
-- [[1], ["👍"]]

INSERT INTO "reaction_counters" AS diesel_counters_stored ("slot", "article_id", "emoji", "day")
SELECT (SELECT $1 + $2 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($3, $4) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE CASE WHEN $5 > 1 THEN COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER)
FROM (SELECT generate_series(0, 32766) AS number) AS numbers
WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number)
LIMIT 1), pg_backend_pid()) ELSE 0 END END % $6)), row.*
FROM unnest($7, $8, $9) AS row
ON CONFLICT ("article_id", "emoji", "day", "slot") DO UPDATE
SET "slot" = (excluded."slot");
-- [0, 1, 0, 1, 1, 1, [1], ["👍"], [1970-01-01]]

SELECT MIN("diesel_counters_number")
FROM unnest($1, $2) WITH ORDINALITY AS diesel_counters_wanted ("diesel_counters_key", "diesel_counters_key_1", "diesel_counters_number")
JOIN "reaction_counters" ON "article_id" = diesel_counters_key AND "emoji" = diesel_counters_key_1 AND ("day" <> $3 OR "slot" > 0 OR "given" <> 0)
GROUP BY "article_id", "emoji";
-- [[1], ["👍"], 1970-01-01]

DELETE
FROM "reaction_counters"
WHERE ("article_id", "emoji") IN (SELECT *
FROM unnest($1, $2));
-- [[1], ["👍"]]

DELETE
FROM "reaction_counters"
WHERE ("article_id", "emoji") IN (SELECT *
FROM unnest($1, $2));
-- [[1], ["👍"]]

COMMIT;

