-- counter_value(views).get_result::<i64>(conn)

SELECT *
FROM (SELECT COALESCE(SUM(`views`), 0) DIV 1 AS total FROM `article_counters`) AS totals
UNION
SELECT 0
FROM DUAL
WHERE FALSE;

