-- counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn)

SELECT wanted.ordinality, totals.total
FROM unnest($1, $2)
WITH ORDINALITY AS wanted (entity, entity_1, ordinality)
JOIN (
    SELECT "article_id", "emoji", CAST(COALESCE(SUM("given"), 0) AS BIGINT) AS total
    FROM "reaction_counters"
    WHERE ("article_id", "emoji") IN (SELECT * FROM unnest($3, $4))
    GROUP BY "article_id", "emoji"
) AS totals ON totals."article_id" = wanted.entity
    AND totals."emoji" = wanted.entity_1;
-- [[1, 1, 2], ["👍", "🎉", "👍"], [1, 1, 2], ["👍", "🎉", "👍"]]

