-- counter_value(views).get_result::<i64>(conn)

SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
FROM "article_counters";

