-- counter_value(views).get_result::<i64>(conn)

SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS diesel_counters_sum
FROM "article_counters";

