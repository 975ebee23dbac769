-- counter_series(views).of(1_i64).between(monday()..=sunday()).load(conn)

SELECT
    `day`,
    CASE
        typeof(COALESCE(SUM(`views`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total
FROM `article_counters`
WHERE `article_id` = ? AND `day` BETWEEN ? AND ?
GROUP BY `day`
ORDER BY `day`;
-- [1, 2026-03-02, 2026-03-08]

