-- counter_series(views).between(monday()..=sunday()).of_many([1_i64, 2]).load(conn)

SELECT "diesel_counters_number", "day", diesel_counters_sum
FROM unnest($1) WITH ORDINALITY AS diesel_counters_wanted ("diesel_counters_key", "diesel_counters_number")
JOIN (SELECT "article_id", "day", CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS diesel_counters_sum
FROM "article_counters"
WHERE "article_id" = ANY($2) AND "day" BETWEEN $3 AND $4
GROUP BY "article_id", "day") AS diesel_counters_sums ON "article_id" = diesel_counters_key
WHERE "diesel_counters_number" <= $5;
-- [[1, 2], [1, 2], 2026-03-02, 2026-03-08, 2]

