-- counter_value(views).of_many([2_i64, 7, 1]).load(conn)

SELECT "diesel_counters_number", diesel_counters_sum
FROM unnest($1) WITH ORDINALITY AS diesel_counters_wanted ("diesel_counters_key", "diesel_counters_number")
JOIN (SELECT "article_id", CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS diesel_counters_sum
FROM "article_counters"
WHERE "article_id" = ANY($2)
GROUP BY "article_id") AS diesel_counters_sums ON "article_id" = diesel_counters_key
WHERE "diesel_counters_number" <= $3;
-- [[2, 7, 1], [2, 7, 1], 3]

