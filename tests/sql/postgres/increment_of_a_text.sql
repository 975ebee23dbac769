-- increment(page_counters::hits).of("/").on(monday()).execute(conn)

INSERT INTO "page_counters" AS diesel_counters_stored ("path", "day", "slot", "hits")
VALUES ($1, $2, LEAST(octet_length(COALESCE(NULLIF(current_setting($3, true), ''), CASE WHEN ts_rewrite('a', replace($make$SELECT CAST('' AS tsquery), CAST('' AS tsquery)
FROM CAST(string_to_array(split_part('?', 'slot_', 2), '_') AS INTEGER[]) AS slot
WHERE set_config('?', repeat('x', slot[1] + slot[4] * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (slot[3], slot[4]) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN slot[2] > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER)
FROM (SELECT generate_series(0, 32766) AS number) AS numbers
WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number)
LIMIT 1)), pg_backend_pid()) ELSE 0 END % slot[2])), false) IS NULL$make$, '?', $4)) IS NOT NULL THEN current_setting($5) END)), $6), $7)
ON CONFLICT ("path", "day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- ["/", 2026-03-02, "diesel_counters.slot_1_32_0_1", "diesel_counters.slot_1_32_0_1", "diesel_counters.slot_1_32_0_1", 32, 1]

