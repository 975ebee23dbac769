-- recount((views, likes), articles::table.select((articles::id, 0.into_sql::<BigInt>(), 0.into_sql::<BigInt>()))).dry_run(conn).map(drop::<Vec<Drift<i64, _>>>)

BEGIN;

SET LOCAL row_security = off;

WITH "diesel_counters_source" ("diesel_counters_entity", "diesel_counters_actual_0", "diesel_counters_actual_1") AS (SELECT "articles"."id", $1, $2
FROM "articles")
SELECT "diesel_counters_entity", CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT), CAST(COALESCE(SUM("diesel_counters_stored_1"), 0) AS BIGINT), CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT), CAST(COALESCE(SUM("diesel_counters_actual_1"), 0) AS BIGINT)
FROM (SELECT "article_id" AS "diesel_counters_entity", SUM("views") AS "diesel_counters_stored_0", SUM("likes") AS "diesel_counters_stored_1", 0 AS "diesel_counters_actual_0", 0 AS "diesel_counters_actual_1"
FROM "article_counters"
GROUP BY "article_id" UNION ALL
SELECT "diesel_counters_entity", 0, 0, SUM("diesel_counters_actual_0"), SUM("diesel_counters_actual_1")
FROM "diesel_counters_source"
GROUP BY "diesel_counters_entity") AS diesel_counters_both
GROUP BY "diesel_counters_entity"
HAVING CAST(COALESCE(SUM("diesel_counters_stored_0"), 0) AS BIGINT) <> CAST(COALESCE(SUM("diesel_counters_actual_0"), 0) AS BIGINT) OR CAST(COALESCE(SUM("diesel_counters_stored_1"), 0) AS BIGINT) <> CAST(COALESCE(SUM("diesel_counters_actual_1"), 0) AS BIGINT)
ORDER BY "diesel_counters_entity";
-- [0, 0]

COMMIT;

