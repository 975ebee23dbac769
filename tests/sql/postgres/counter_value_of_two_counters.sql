-- counter_value((views, likes)).of(1_i64).get_result::<(i64, i64)>(conn)

SELECT
    CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total,
    CAST(COALESCE(SUM("likes"), 0) AS BIGINT) AS total_1
FROM "article_counters"
WHERE "article_id" = $1;
-- [1]

