-- counter_value(views).of(1_i64).get_result::<i64>(conn)

SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
FROM "article_counters"
WHERE "article_id" = $1;
-- [1]

