-- comments::table.select(total(views).of(comments::article_id)).load::<i64>(conn)

SELECT (
    SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT)
    FROM "article_counters" AS "diesel_counters_counted"
    WHERE "diesel_counters_counted"."article_id" = "comments"."article_id"
)
FROM "comments";

