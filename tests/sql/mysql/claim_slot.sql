-- claim_slot().execute(conn)

SET @diesel_counters_length = COALESCE(NULLIF(@diesel_counters_length, ''), REPEAT('x', 1 + (WITH RECURSIVE diesel_counters_numbers (number, claimed) AS (SELECT 0, GET_LOCK(CONVERT(SHA2(CONVERT(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), 0) USING utf8mb4), 224) USING utf8mb4), 0) UNION ALL
SELECT number + 1, GET_LOCK(CONVERT(SHA2(CONVERT(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), number + 1) USING utf8mb4), 224) USING utf8mb4), 0)
FROM diesel_counters_numbers
WHERE claimed = 0 AND number < 998)
SELECT number
FROM diesel_counters_numbers
WHERE claimed = 1)));

