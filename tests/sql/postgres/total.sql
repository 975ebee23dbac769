-- articles::table.filter(total(views).gt(1)).order(total(views).desc()).select((articles::id, total(likes).between(monday()..=sunday()))).load::<(i64, i64)>(conn)

SELECT
    "articles"."id",
    (
        SELECT CAST(COALESCE(SUM("likes"), 0) AS BIGINT)
        FROM "article_counters" AS "diesel_counters_counted"
        WHERE "diesel_counters_counted"."article_id" = "articles"."id"
            AND "day" BETWEEN $1 AND $2
    )
FROM "articles"
WHERE (
    (
        SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT)
        FROM "article_counters" AS "diesel_counters_counted"
        WHERE "diesel_counters_counted"."article_id" = "articles"."id"
    ) > $3
)
ORDER BY (
    SELECT CAST(COALESCE(SUM("views"), 0) AS BIGINT)
    FROM "article_counters" AS "diesel_counters_counted"
    WHERE "diesel_counters_counted"."article_id" = "articles"."id"
) DESC;
-- [2026-03-02, 2026-03-08, 1]

