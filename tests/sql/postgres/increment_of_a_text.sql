-- increment(page_counters::hits).of("/").on(monday()).execute(conn)

INSERT INTO "page_counters" AS diesel_counters_stored ("path", "day", "slot", "hits")
VALUES ($1, $2, $3 + LEAST(octet_length(COALESCE(NULLIF(current_setting($4, true), ''), current_setting($5, pg_catalog.ts_rewrite('a', $6) IS NULL))), $7), $8)
ON CONFLICT ("path", "day", "slot") DO UPDATE
SET "hits" = diesel_counters_stored."hits" + excluded."hits";
-- ["/", 2026-03-02, 0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, 1]

