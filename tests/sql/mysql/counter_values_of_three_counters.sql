-- counter_value((views, likes, article_counters::comments)).of_many([2_i64, 1]).load(conn)

SELECT
    FIELD(`article_id`, ?, ?),
    COALESCE(SUM(`views`), 0) DIV 1 AS total,
    COALESCE(SUM(`likes`), 0) DIV 1 AS total_1,
    COALESCE(SUM(`comments`), 0) DIV 1 AS total_2
FROM `article_counters`
WHERE `article_id` IN (?, ?)
GROUP BY `article_id`;
-- [2, 1, 2, 1]

