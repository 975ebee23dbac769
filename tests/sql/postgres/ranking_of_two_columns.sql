-- ranking(reaction_counters::given).between(monday()..).limit(10).load::<((i64, String), i64)>(conn)

SELECT
    "article_id" AS "entity",
    "emoji" AS "entity_1",
    CAST(COALESCE(SUM("given"), 0) AS BIGINT) AS total
FROM "reaction_counters"
WHERE "day" BETWEEN $1 AND $2
GROUP BY "article_id", "emoji"
ORDER BY 3 DESC, 1, 2
LIMIT $3;
-- [2026-03-02, 9999-12-31, 10]

