-- counter_value(site_counters::hits).get_result::<i64>(conn)

SELECT CAST(COALESCE(SUM("hits"), 0) AS BIGINT) AS total
FROM "site_counters";

