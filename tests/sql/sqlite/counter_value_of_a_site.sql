-- counter_value(site_counters::hits).get_result::<i64>(conn)

SELECT CASE
    typeof(COALESCE(SUM(`hits`), 0))
    WHEN 'integer' THEN COALESCE(SUM(`hits`), 0)
    ELSE abs(-9223372036854775807 - 1)
END AS total
FROM `site_counters`;

