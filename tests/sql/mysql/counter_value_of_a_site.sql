-- counter_value(site_counters::hits).get_result::<i64>(conn)

SELECT *
FROM (SELECT COALESCE(SUM(`hits`), 0) DIV 1 AS total FROM `site_counters`) AS totals
UNION
SELECT 0
FROM DUAL
WHERE FALSE;

