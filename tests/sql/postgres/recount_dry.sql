-- recount((views, likes), articles::table.select((articles::id, 0.into_sql::<BigInt>(), 0.into_sql::<BigInt>()))).dry_run(conn).map(drop::<Vec<Drift<i64, _>>>)

BEGIN;

SET LOCAL row_security = off;

WITH "true_counts" ("entity", "actual", "actual_1") AS (SELECT "articles"."id", $1, $2 FROM "articles")
SELECT
    "entity",
    CAST(COALESCE(SUM("stored"), 0) AS BIGINT),
    CAST(COALESCE(SUM("stored_1"), 0) AS BIGINT),
    CAST(COALESCE(SUM("actual"), 0) AS BIGINT),
    CAST(COALESCE(SUM("actual_1"), 0) AS BIGINT)
FROM (
    SELECT
        "article_id" AS "entity",
        SUM("views") AS "stored",
        SUM("likes") AS "stored_1",
        0 AS "actual",
        0 AS "actual_1"
    FROM "article_counters"
    GROUP BY "article_id"
    UNION ALL
    SELECT "entity", 0, 0, "actual", "actual_1"
    FROM "true_counts"
) AS compared
GROUP BY "entity"
HAVING SUM("stored") <> SUM("actual") OR SUM("stored_1") <> SUM("actual_1")
ORDER BY "entity";
-- [0, 0]

COMMIT;

