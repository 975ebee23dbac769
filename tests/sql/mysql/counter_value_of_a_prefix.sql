-- counter_value(version_counters::downloads).of(1).get_result::<i64>(conn)

SELECT *
FROM (SELECT COALESCE(SUM(`downloads`), 0) DIV 1 AS diesel_counters_sum
FROM `version_counters`
WHERE `crate_id` = ?) AS diesel_counters_read UNION
SELECT 0
FROM DUAL
WHERE FALSE;
-- [1]

