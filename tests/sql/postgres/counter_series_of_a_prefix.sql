-- counter_series(version_counters::downloads).of(1).load(conn)

SELECT "day", CAST(COALESCE(SUM("downloads"), 0) AS BIGINT) AS total
FROM "version_counters"
WHERE "crate_id" = $1 AND "day" BETWEEN $2 AND $3
GROUP BY "day"
ORDER BY "day";
-- [1, 1000-01-01, 9999-12-31]

