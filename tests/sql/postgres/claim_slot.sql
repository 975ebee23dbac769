-- claim_slot().execute(conn)

SELECT COALESCE(CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER)
FROM (SELECT generate_series(0, 32766) AS number) AS numbers
WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number)
LIMIT 1));

