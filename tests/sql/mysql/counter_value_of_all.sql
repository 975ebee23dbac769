-- counter_value(views).get_result::<i64>(conn)

SELECT *
FROM (SELECT COALESCE(SUM(`views`), 0) DIV 1 AS diesel_counters_sum
FROM `article_counters`) AS diesel_counters_read UNION
SELECT 0
FROM DUAL
WHERE FALSE;

