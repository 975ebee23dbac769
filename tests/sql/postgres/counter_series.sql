-- counter_series(views).of(1_i64).between(monday()..=sunday()).load(conn)

SELECT "day", CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
FROM "article_counters"
WHERE "article_id" = $1 AND "day" BETWEEN $2 AND $3
GROUP BY "day"
ORDER BY "day";
-- [1, 2026-03-02, 2026-03-08]

