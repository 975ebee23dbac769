-- counter_value(version_counters::downloads).of(1).get_result::<i64>(conn)

SELECT CASE
    typeof(COALESCE(SUM(`downloads`), 0))
    WHEN 'integer' THEN COALESCE(SUM(`downloads`), 0)
    ELSE abs(-9223372036854775807 - 1)
END AS total
FROM `version_counters`
WHERE `crate_id` = ?;
-- [1]

