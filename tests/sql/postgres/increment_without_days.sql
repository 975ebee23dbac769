-- increment(timeless_counters::views).of(1_i64).execute(conn)

INSERT INTO "article_counters" AS diesel_counters_stored ("article_id", "day", "slot", "views")
VALUES ($1, $2, $3 + LEAST(octet_length(COALESCE(NULLIF(current_setting($4, true), ''), CASE WHEN pg_catalog.ts_rewrite(CAST('a' AS pg_catalog.tsquery), replace($make$SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery)
FROM CAST(string_to_array(split_part('?', 'slot_', 2), '_') AS INTEGER[]) AS slot
WHERE set_config('?', repeat('x', 1 + slot[3] * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (slot[2], slot[3]) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN slot[1] > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER)
FROM (SELECT generate_series(0, 32766) AS number) AS numbers
WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number)
LIMIT 1)), pg_backend_pid()) ELSE 0 END % slot[1])), false) IS NULL$make$, '?', $5)) IS NOT NULL THEN current_setting($6) END)), $7), $8)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE
SET "views" = diesel_counters_stored."views" + excluded."views";
-- [1, 1970-01-01, 0, "diesel_counters.slot_2_0_1", "diesel_counters.slot_2_0_1", "diesel_counters.slot_2_0_1", 2, 1]

