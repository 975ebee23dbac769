-- counter_series(views).of(1_i64).between(monday()..=sunday()).load(conn)

SELECT `day`, COALESCE(SUM(`views`), 0) DIV 1 AS total
FROM `article_counters`
WHERE `article_id` = ? AND `day` BETWEEN ? AND ?
GROUP BY `day`
ORDER BY `day`;
-- [1, 2026-03-02, 2026-03-08]

