-- counter_value(site_counters::hits).get_result::<i64>(conn)

SELECT *
FROM (SELECT COALESCE(SUM(`hits`), 0) DIV 1 AS diesel_counters_sum
FROM `site_counters`) AS diesel_counters_read UNION
SELECT 0
FROM DUAL
WHERE FALSE;

