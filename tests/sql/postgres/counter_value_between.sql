-- counter_value(views).of(1_i64).between(monday()..=sunday()).get_result::<i64>(conn)

SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
FROM "article_counters"
WHERE "article_id" = $1 AND "day" BETWEEN $2 AND $3;
-- [1, 2026-03-02, 2026-03-08]

