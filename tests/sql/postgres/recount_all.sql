-- recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn)

BEGIN;

SET LOCAL row_security = off;

WITH
"true_counts" ("entity", "actual") AS (
    SELECT "comments"."article_id", COUNT(*)
    FROM "comments"
    GROUP BY "comments"."article_id"
)
SELECT "entity", CAST(COALESCE(SUM("stored"), 0) AS BIGINT), CAST(COALESCE(SUM("actual"), 0) AS BIGINT)
FROM (
    SELECT "article_id" AS "entity", SUM("comments") AS "stored", 0 AS "actual"
    FROM "article_counters"
    GROUP BY "article_id"
    UNION ALL
    SELECT "entity", 0, "actual"
    FROM "true_counts"
) AS compared
GROUP BY "entity"
HAVING SUM("stored") <> SUM("actual")
ORDER BY "entity";

COMMIT;

