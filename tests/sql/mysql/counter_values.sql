-- counter_value(views).of_many([2_i64, 7, 1]).load(conn)

SELECT FIELD(`article_id`, ?, ?, ?), COALESCE(SUM(`views`), 0) DIV 1 AS total
FROM `article_counters`
WHERE `article_id` IN (?, ?, ?)
GROUP BY `article_id`;
-- [2, 7, 1, 2, 7, 1]

