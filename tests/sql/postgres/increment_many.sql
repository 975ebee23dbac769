-- increment(views).on(monday()).of_many([(2_i64, 5), (1, 1), (3, 2)]).execute(conn)

INSERT INTO "article_counters" AS diesel_counters_stored ("slot", "article_id", "day", "views")
SELECT (SELECT $1 + LEAST(octet_length(COALESCE(NULLIF(current_setting($2, true), ''), current_setting($3, pg_catalog.ts_rewrite('a', $4) IS NULL))), $5)), row.*
FROM unnest($6, $7, $8) AS row
ON CONFLICT ("article_id", "day", "slot") DO UPDATE
SET "views" = diesel_counters_stored."views" + excluded."views";
-- [0, "diesel_counters.slot_32_0_1", "diesel_counters.slot_32_0_1", "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) WHERE set_config('diesel_counters.slot_32_0_1', repeat('x', 1 + 1 * (CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER)) <> (0, 1) THEN CAST('the partition of this statement is not that of the database, diesel_counters.partition = ' || current_setting('diesel_counters.partition') || ': call set_default_slot at the start of main' AS INTEGER) WHEN 32 > 1 THEN COALESCE(COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) FROM (SELECT generate_series(0, 32766) AS number) AS numbers WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)), pg_backend_pid()) ELSE 0 END % 32)), false) IS NULL", 32, [1, 2, 3], [2026-03-02, 2026-03-02, 2026-03-02], [1, 5, 2]]

