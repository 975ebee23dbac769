-- ranking(version_counters::downloads).group_by(version_counters::crate_id).limit(10).load::<(i32, i64)>(conn)

SELECT
    `crate_id` AS `entity`,
    CASE
        typeof(COALESCE(SUM(`downloads`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`downloads`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total
FROM `version_counters`
WHERE `day` BETWEEN ? AND ?
GROUP BY `crate_id`
ORDER BY 2 DESC, 1
LIMIT ?;
-- [1000-01-01, 9999-12-31, 10]

