-- ranking(version_counters::downloads).of(1).limit(10).load::<((i32, String), i64)>(conn)

SELECT
    "crate_id" AS "entity",
    "number" AS "entity_1",
    CAST(COALESCE(SUM("downloads"), 0) AS BIGINT) AS total
FROM "version_counters"
WHERE "crate_id" = $1 AND "day" BETWEEN $2 AND $3
GROUP BY "crate_id", "number"
ORDER BY 3 DESC, 1, 2
LIMIT $4;
-- [1, 1000-01-01, 9999-12-31, 10]

