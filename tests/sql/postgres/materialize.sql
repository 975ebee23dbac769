-- Article::materialize(views, articles::total_views).execute(conn)

SELECT "id"
FROM "articles"
ORDER BY "id"
LIMIT 1 OFFSET 49999;

BEGIN;

SET LOCAL row_security = off;

SELECT diesel_counters_key, diesel_counters_held, diesel_counters_total
FROM (SELECT "id" AS diesel_counters_key, "total_views" AS diesel_counters_held, COALESCE(diesel_counters_totals.diesel_counters_total, 0) AS diesel_counters_total
FROM "articles" LEFT
JOIN (SELECT "article_id" AS diesel_counters_key, CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS diesel_counters_total
FROM "article_counters"
GROUP BY "article_id") AS diesel_counters_totals ON diesel_counters_totals.diesel_counters_key = "id") AS diesel_counters_parent
WHERE diesel_counters_held <> diesel_counters_total OR diesel_counters_held IS NULL
ORDER BY diesel_counters_key;

COMMIT;

UPDATE "articles"
SET "total_views" = diesel_counters_total
FROM (SELECT diesel_counters_wanted.*
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_held, column3 AS diesel_counters_total
FROM (VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "articles" AS diesel_counters_parent ON "id" = diesel_counters_key AND ("total_views" = diesel_counters_held OR diesel_counters_held IS NULL AND "total_views" IS NULL)
ORDER BY diesel_counters_key FOR NO KEY UPDATE OF diesel_counters_parent) AS diesel_counters_locked
WHERE "id" = diesel_counters_key AND ("total_views" = diesel_counters_held OR diesel_counters_held IS NULL AND "total_views" IS NULL);
-- [1, Some(0), 2, 2, Some(0), 9, 3, Some(0), 2]

