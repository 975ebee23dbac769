-- counter_value((views, likes)).of(1_i64).get_result::<(i64, i64)>(conn)

SELECT *
FROM (
    SELECT COALESCE(SUM(`views`), 0) DIV 1 AS total, COALESCE(SUM(`likes`), 0) DIV 1 AS total_1
    FROM `article_counters`
    WHERE `article_id` = ?
) AS totals
UNION
SELECT 0, 0
FROM DUAL
WHERE FALSE;
-- [1]

