SELECT FIELD(article_id, ?, ?, ?), COALESCE(SUM(views), 0) DIV 1
FROM article_counters
WHERE article_id IN (?, ?, ?)
GROUP BY article_id;
