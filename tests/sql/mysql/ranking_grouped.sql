-- ranking(version_counters::downloads).group_by(version_counters::crate_id).limit(10).load::<(i32, i64)>(conn)

SELECT `crate_id` AS `entity`, COALESCE(SUM(`downloads`), 0) DIV 1 AS total
FROM `version_counters`
WHERE `day` BETWEEN ? AND ?
GROUP BY `crate_id`
ORDER BY 2 DESC, 1
LIMIT ?;
-- [1000-01-01, 9999-12-31, 10]

