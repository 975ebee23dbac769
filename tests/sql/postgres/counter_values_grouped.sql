-- counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn)

SELECT "diesel_counters_number", "reaction_counters"."emoji", CAST(COALESCE(SUM("given"), 0) AS BIGINT) AS diesel_counters_sum
FROM unnest($1) WITH ORDINALITY AS diesel_counters_wanted ("diesel_counters_key", "diesel_counters_number")
JOIN "reaction_counters" ON "article_id" = diesel_counters_key AND "article_id" = ANY($2)
WHERE "diesel_counters_number" <= $3
GROUP BY "diesel_counters_number", "reaction_counters"."emoji"
ORDER BY "diesel_counters_number", "reaction_counters"."emoji";
-- [[1, 2], [1, 2], 2]

