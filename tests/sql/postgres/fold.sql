-- fold(article_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT CASE WHEN pg_try_advisory_lock(hashtext('diesel_counters/merge'), CAST(CAST($diesel_counters$"article_counters"$diesel_counters$ AS regclass) AS oid)::int4) THEN CAST(1 AS BIGINT) ELSE 0 END;

SELECT COUNT(*)
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0 OR "day" <> DATE '1970-01-01');
-- [1970-01-02, 2026-04-01]

SELECT "article_id", "day", "slot"
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0 OR "day" <> DATE '1970-01-01')
ORDER BY "article_id", "day", "slot"
LIMIT 100;
-- [1970-01-02, 2026-04-01]

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "article_counters" AS diesel_counters_stored ("article_id", "day", "slot", "views", "likes", "comments")
VALUES ($1, $2, CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> ($3, $4) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) ELSE $5 END, 0, 0, 0), ($6, $7, $8, 0, 0, 0), ($9, $10, $11, 0, 0, 0)
ON CONFLICT ("article_id", "day", "slot") DO NOTHING;
-- [1, 1970-01-01, 0, 1, 0, 2, 1970-01-01, 0, 3, 1970-01-01, 0]

SELECT "article_id", "day", "slot", "views", "likes", "comments", *
FROM "article_counters"
WHERE ("article_id", "day", "slot") IN (VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9), ($10, $11, $12), ($13, $14, $15), ($16, $17, $18)) FOR UPDATE SKIP LOCKED;
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0, 3, 1970-01-01, 0, 1, 2026-01-01, 0, 2, 2026-01-01, 0, 3, 2026-01-01, 0]

INSERT INTO "article_counters" AS diesel_counters_stored ("article_id", "day", "slot", "views", "likes", "comments")
SELECT "article_id", DATE '1970-01-01', $1, CAST(COALESCE(SUM("views"), 0) AS BIGINT), CAST(COALESCE(SUM("likes"), 0) AS BIGINT), CAST(COALESCE(SUM("comments"), 0) AS BIGINT)
FROM "article_counters"
WHERE ("article_id", "day", "slot") IN (VALUES ($2, $3, $4), ($5, $6, $7), ($8, $9, $10))
GROUP BY "article_id"
ORDER BY "article_id"
ON CONFLICT ("article_id", "day", "slot") DO UPDATE
SET "views" = diesel_counters_stored."views" + excluded."views", "likes" = diesel_counters_stored."likes" + excluded."likes", "comments" = diesel_counters_stored."comments" + excluded."comments";
-- [0, 2, 2026-01-01, 0, 3, 2026-01-01, 0, 1, 2026-01-01, 0]

DELETE
FROM "article_counters"
WHERE ("article_id", "day", "slot") IN (VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9));
-- [2, 2026-01-01, 0, 3, 2026-01-01, 0, 1, 2026-01-01, 0]

SELECT "article_id", "day", "slot", "views", "likes", "comments"
FROM "article_counters"
WHERE ("article_id", "day", "slot") IN (VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9), ($10, $11, $12), ($13, $14, $15), ($16, $17, $18));
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0, 3, 1970-01-01, 0, 2, 2026-01-01, 0, 3, 2026-01-01, 0, 1, 2026-01-01, 0]

COMMIT;

SELECT "article_id", "day", "slot"
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0 OR "day" <> DATE '1970-01-01') AND "article_id" >= $3 AND ("article_id" > $4 OR "day" >= $5 AND ("day" > $6 OR "slot" > $7))
ORDER BY "article_id", "day", "slot"
LIMIT 100;
-- [1970-01-02, 2026-04-01, 3, 3, 2026-01-01, 2026-01-01, 0]

SELECT COUNT(*)
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("slot" <> 0 OR "day" <> DATE '1970-01-01');
-- [1970-01-02, 2026-04-01]

SELECT CASE WHEN pg_advisory_unlock(hashtext('diesel_counters/merge'), CAST(CAST($diesel_counters$"article_counters"$diesel_counters$ AS regclass) AS oid)::int4) THEN CAST(1 AS BIGINT) ELSE 0 END;

