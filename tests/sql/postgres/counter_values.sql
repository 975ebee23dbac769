-- counter_value(views).of_many([2_i64, 7, 1]).load(conn)

SELECT wanted.ordinality, totals.total
FROM unnest($1)
WITH ORDINALITY AS wanted (entity, ordinality)
JOIN (
    SELECT "article_id", CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
    FROM "article_counters"
    WHERE "article_id" = ANY($2)
    GROUP BY "article_id"
) AS totals ON totals."article_id" = wanted.entity;
-- [[2, 7, 1], [2, 7, 1]]

