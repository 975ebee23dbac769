-- counter_series(views).between(monday()..=sunday()).of_many([1_i64, 2]).load(conn)

SELECT FIELD(`article_id`, ?, ?), `day`, COALESCE(SUM(`views`), 0) DIV 1 AS total
FROM `article_counters`
WHERE `article_id` IN (?, ?) AND `day` BETWEEN ? AND ?
GROUP BY `article_id`, `day`;
-- [1, 2, 1, 2, 2026-03-02, 2026-03-08]

