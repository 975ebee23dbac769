-- counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn)

SELECT wanted.ordinality, "reaction_counters"."emoji", CAST(COALESCE(SUM("given"), 0) AS BIGINT) AS total
FROM unnest($1)
WITH ORDINALITY AS wanted (entity, ordinality)
JOIN
    "reaction_counters" ON "reaction_counters"."article_id" = wanted.entity
    AND "reaction_counters"."article_id" = ANY($2)
GROUP BY wanted.ordinality, "reaction_counters"."emoji"
ORDER BY wanted.ordinality, "reaction_counters"."emoji";
-- [[1, 2], [1, 2]]

