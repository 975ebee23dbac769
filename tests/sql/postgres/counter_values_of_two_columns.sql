-- counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn)

SELECT "diesel_counters_number", diesel_counters_sum
FROM unnest($1, $2) WITH ORDINALITY AS diesel_counters_wanted ("diesel_counters_key", "diesel_counters_key_1", "diesel_counters_number")
JOIN (SELECT "article_id", "emoji", CAST(COALESCE(SUM("given"), 0) AS BIGINT) AS diesel_counters_sum
FROM "reaction_counters"
WHERE ("article_id", "emoji") IN (SELECT *
FROM unnest($3, $4))
GROUP BY "article_id", "emoji") AS diesel_counters_sums ON "article_id" = diesel_counters_key AND "emoji" = diesel_counters_key_1
WHERE "diesel_counters_number" <= $5;
-- [[1, 1, 2], ["👍", "🎉", "👍"], [1, 1, 2], ["👍", "🎉", "👍"], 3]

