BEGIN;

-- Other corrections of the article wait here. Increments don't.
INSERT INTO article_counters (article_id, day, slot, views)
VALUES ($1, $2, 0, $3)
ON CONFLICT (article_id, day, slot) DO UPDATE SET views = article_counters.views + excluded.views;

-- Fails if a row that the snapshot shows was deleted since.
SELECT 1 FROM article_counters
WHERE article_id = $1 AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;

SELECT CAST(COALESCE(SUM(views), 0) AS BIGINT) FROM article_counters WHERE article_id = $1;

INSERT INTO article_counters (article_id, day, slot, views)
VALUES ($1, $2, 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
    (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
     WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1),
    pg_backend_pid()) % 32, $3)
ON CONFLICT (article_id, day, slot) DO UPDATE SET views = article_counters.views + excluded.views;

COMMIT;
