-- ranking(version_counters::downloads).of(1).limit(10).load::<((i32, String), i64)>(conn)

SELECT `crate_id` AS `entity`, `number` AS `entity_1`, COALESCE(SUM(`downloads`), 0) DIV 1 AS total
FROM `version_counters`
WHERE `crate_id` = ? AND `day` BETWEEN ? AND ?
GROUP BY `crate_id`, `number`
ORDER BY 3 DESC, 1, 2
LIMIT ?;
-- [1, 1000-01-01, 9999-12-31, 10]

