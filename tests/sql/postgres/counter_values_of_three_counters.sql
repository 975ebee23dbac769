-- counter_value((views, likes, article_counters::comments)).of_many([2_i64, 1]).load(conn)

SELECT wanted.ordinality, totals.total, totals.total_1, totals.total_2
FROM unnest($1)
WITH ORDINALITY AS wanted (entity, ordinality)
JOIN (
    SELECT
        "article_id",
        CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total,
        CAST(COALESCE(SUM("likes"), 0) AS BIGINT) AS total_1,
        CAST(COALESCE(SUM("comments"), 0) AS BIGINT) AS total_2
    FROM "article_counters"
    WHERE "article_id" = ANY($2)
    GROUP BY "article_id"
) AS totals ON totals."article_id" = wanted.entity;
-- [[2, 1], [2, 1]]

