-- counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn)

SELECT "diesel_counters_number", diesel_counters_sum
FROM unnest($1) WITH ORDINALITY AS diesel_counters_wanted ("diesel_counters_key", "diesel_counters_number")
JOIN (SELECT "article_id", CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS diesel_counters_sum
FROM "article_counters"
WHERE "article_id" = ANY($2) AND "day" BETWEEN $3 AND $4
GROUP BY "article_id") AS diesel_counters_sums ON "article_id" = diesel_counters_key
WHERE "diesel_counters_number" <= $5;
-- [[2, 1], [2, 1], 2026-03-02, 2026-03-08, 2]

