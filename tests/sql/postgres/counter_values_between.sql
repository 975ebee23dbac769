-- counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn)

SELECT wanted.ordinality, totals.total
FROM unnest($1)
WITH ORDINALITY AS wanted (entity, ordinality)
JOIN (
    SELECT "article_id", CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total
    FROM "article_counters"
    WHERE "article_id" = ANY($2)
        AND "day" BETWEEN $3 AND $4
    GROUP BY "article_id"
) AS totals ON totals."article_id" = wanted.entity;
-- [[2, 1], [2, 1], 2026-03-02, 2026-03-08]

