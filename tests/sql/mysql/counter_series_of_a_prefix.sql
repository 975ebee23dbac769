-- counter_series(version_counters::downloads).of(1).load(conn)

SELECT `day`, COALESCE(SUM(`downloads`), 0) DIV 1 AS total
FROM `version_counters`
WHERE `crate_id` = ? AND `day` BETWEEN ? AND ?
GROUP BY `day`
ORDER BY `day`;
-- [1, 1000-01-01, 9999-12-31]

