-- counter_value((views, likes)).of(1_i64).get_result::<(i64, i64)>(conn)

SELECT *
FROM (SELECT COALESCE(SUM(`views`), 0) DIV 1 AS diesel_counters_sum, COALESCE(SUM(`likes`), 0) DIV 1 AS diesel_counters_sum_1
FROM `article_counters`
WHERE `article_id` = ?) AS diesel_counters_read UNION
SELECT 0, 0
FROM DUAL
WHERE FALSE;
-- [1]

