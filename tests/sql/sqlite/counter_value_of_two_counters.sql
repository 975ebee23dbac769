-- counter_value((views, likes)).of(1_i64).get_result::<(i64, i64)>(conn)

SELECT
    CASE
        typeof(COALESCE(SUM(`views`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total,
    CASE
        typeof(COALESCE(SUM(`likes`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`likes`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END AS total_1
FROM `article_counters`
WHERE `article_id` = ?;
-- [1]

