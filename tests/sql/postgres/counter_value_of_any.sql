-- counter_value(views).of_any(articles::table.select(articles::id)).get_result::<i64>(conn)

SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
FROM "article_counters"
WHERE "article_id" IN (SELECT "articles"."id" FROM "articles");

