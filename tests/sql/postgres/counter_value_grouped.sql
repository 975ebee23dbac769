-- counter_value(reaction_counters::given).of(1_i64).group_by(reaction_counters::emoji).load::<(String, i64)>(conn)

SELECT "reaction_counters"."emoji", CAST(COALESCE(SUM("given"), 0) AS BIGINT) AS total
FROM "reaction_counters"
WHERE "article_id" = $1
GROUP BY "reaction_counters"."emoji"
ORDER BY "reaction_counters"."emoji";
-- [1]

