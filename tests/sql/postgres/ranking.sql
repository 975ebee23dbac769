-- ranking(views).limit(10).load::<(i64, i64)>(conn)

SELECT "article_id" AS "entity", CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
FROM "article_counters"
WHERE "day" BETWEEN $1 AND $2
GROUP BY "article_id"
ORDER BY 2 DESC, 1
LIMIT $3;
-- [1000-01-01, 9999-12-31, 10]

