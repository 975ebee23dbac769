-- counter_value(version_counters::downloads).of(1).get_result::<i64>(conn)

SELECT *
FROM (
    SELECT COALESCE(SUM(`downloads`), 0) DIV 1 AS total
    FROM `version_counters`
    WHERE `crate_id` = ?
) AS totals
UNION
SELECT 0
FROM DUAL
WHERE FALSE;
-- [1]

