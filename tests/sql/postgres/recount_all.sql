-- recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn)

BEGIN;

SET LOCAL row_security = off;

WITH "diesel_counters_source" ("diesel_counters_entity", "diesel_counters_actual_0") AS (SELECT "comments"."article_id", COUNT(*)
FROM "comments"
GROUP BY "comments"."article_id")
SELECT "diesel_counters_entity", CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT), CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
FROM (SELECT "article_id" AS "diesel_counters_entity", SUM("comments") AS "diesel_counters_stored_0", 0 AS "diesel_counters_actual_0"
FROM "article_counters"
GROUP BY "article_id" UNION ALL
SELECT "diesel_counters_entity", 0, SUM("diesel_counters_actual_0")
FROM "diesel_counters_source"
GROUP BY "diesel_counters_entity") AS diesel_counters_both
GROUP BY "diesel_counters_entity"
HAVING CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT) <> CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT)
ORDER BY "diesel_counters_entity";

COMMIT;

