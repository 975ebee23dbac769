INSERT INTO article_counters (article_id, day, views, slot)
SELECT added.*, (SELECT 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
    (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
     WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1),
    pg_backend_pid()) % 32)
FROM unnest($1, $2, $3) AS added
ON CONFLICT (article_id, day, slot) DO UPDATE SET views = article_counters.views + excluded.views;
