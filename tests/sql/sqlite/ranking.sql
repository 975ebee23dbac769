-- ranking(views).limit(10).load::<(i64, i64)>(conn)

SELECT
    `article_id` AS `entity`,
    CASE
        typeof(COALESCE(SUM(`views`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total
FROM `article_counters`
WHERE `day` BETWEEN ? AND ?
GROUP BY `article_id`
ORDER BY 2 DESC, 1
LIMIT ?;
-- [1000-01-01, 9999-12-31, 10]

