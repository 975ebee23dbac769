-- Post::materialize((post_counts::views, post_counts::likes), (posts::total_views, posts::total_likes)).execute(conn)

SELECT "id"
FROM "articles"
ORDER BY "id"
LIMIT 1 OFFSET 49999;

BEGIN;

SET LOCAL row_security = off;

SELECT diesel_counters_key, diesel_counters_held, diesel_counters_held_1, diesel_counters_total, diesel_counters_total_1
FROM (SELECT "id" AS diesel_counters_key, "total_views" AS diesel_counters_held, "total_likes" AS diesel_counters_held_1, COALESCE(diesel_counters_totals.diesel_counters_total, 0) AS diesel_counters_total, COALESCE(diesel_counters_totals.diesel_counters_total_1, 0) AS diesel_counters_total_1
FROM "articles" LEFT
JOIN (SELECT "article_id" AS diesel_counters_key, CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS diesel_counters_total, CAST(COALESCE(SUM("likes"), 0) AS BIGINT) AS diesel_counters_total_1
FROM "article_counters"
GROUP BY "article_id") AS diesel_counters_totals ON diesel_counters_totals.diesel_counters_key = "id") AS diesel_counters_parent
WHERE diesel_counters_held <> diesel_counters_total OR diesel_counters_held IS NULL OR diesel_counters_held_1 <> diesel_counters_total_1 OR diesel_counters_held_1 IS NULL
ORDER BY diesel_counters_key;

COMMIT;

UPDATE "articles"
SET "total_views" = diesel_counters_total, "total_likes" = diesel_counters_total_1
FROM (SELECT diesel_counters_wanted.*
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_held, column3 AS diesel_counters_held_1, column4 AS diesel_counters_total, column5 AS diesel_counters_total_1
FROM (VALUES ($1, $2, $3, $4, $5), ($6, $7, $8, $9, $10), ($11, $12, $13, $14, $15), ($16, $17, $18, $19, $20), ($21, $22, $23, $24, $25)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN "articles" AS diesel_counters_parent ON "id" = diesel_counters_key AND ("total_views" = diesel_counters_held OR diesel_counters_held IS NULL AND "total_views" IS NULL) AND ("total_likes" = diesel_counters_held_1 OR diesel_counters_held_1 IS NULL AND "total_likes" IS NULL)
ORDER BY diesel_counters_key FOR NO KEY UPDATE OF diesel_counters_parent) AS diesel_counters_locked
WHERE "id" = diesel_counters_key AND ("total_views" = diesel_counters_held OR diesel_counters_held IS NULL AND "total_views" IS NULL) AND ("total_likes" = diesel_counters_held_1 OR diesel_counters_held_1 IS NULL AND "total_likes" IS NULL);
-- [1, Some(2), None, 2, 3, 2, Some(9), None, 9, 1, 3, Some(2), None, 2, 0, 4, Some(0), None, 0, 0, 5, Some(0), None, 0, 0]

