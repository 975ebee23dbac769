-- articles::table.select(total(reaction_counters::given).of((articles::id, "👍"))).load::<i64>(conn)

SELECT (
    SELECT CAST(COALESCE(SUM("given"), 0) AS BIGINT)
    FROM "reaction_counters" AS "diesel_counters_counted"
    WHERE "diesel_counters_counted"."article_id" = "articles"."id"
        AND "diesel_counters_counted"."emoji" = $1
)
FROM "articles";
-- ["👍"]

