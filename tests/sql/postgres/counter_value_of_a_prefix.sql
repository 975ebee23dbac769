-- counter_value(version_counters::downloads).of(1).get_result::<i64>(conn)

SELECT CAST(COALESCE(SUM("downloads"), 0) AS BIGINT) AS total
FROM "version_counters"
WHERE "crate_id" = $1;
-- [1]

