SELECT wanted.number, sums.sum
FROM unnest($1) WITH ORDINALITY AS wanted (key, number)
JOIN (
    SELECT article_id, CAST(COALESCE(SUM(views), 0) AS BIGINT) AS sum
    FROM article_counters WHERE article_id = ANY($2) GROUP BY article_id
) AS sums ON sums.article_id = wanted.key;
