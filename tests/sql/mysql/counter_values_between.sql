-- counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn)

SELECT FIELD(`article_id`, ?, ?), COALESCE(SUM(`views`), 0) DIV 1 AS total
FROM `article_counters`
WHERE `article_id` IN (?, ?) AND `day` BETWEEN ? AND ?
GROUP BY `article_id`;
-- [2, 1, 2, 1, 2026-03-02, 2026-03-08]

