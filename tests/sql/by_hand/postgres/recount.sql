BEGIN;
SET LOCAL row_security = off;

-- The lock and the guard of set_counter.
INSERT INTO article_counters (article_id, day, slot, comments)
VALUES ($1, $2, 0, $3)
ON CONFLICT (article_id, day, slot) DO UPDATE SET comments = article_counters.comments + excluded.comments;

SELECT 1 FROM article_counters
WHERE article_id = $1 AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;

WITH source (entity, actual) AS (SELECT article_id, COUNT(*) FROM comments GROUP BY article_id)
SELECT entity, CAST(SUM(stored) AS BIGINT), CAST(SUM(actual) AS BIGINT)
FROM (
    SELECT article_id AS entity, comments AS stored, 0 AS actual FROM article_counters WHERE article_id = $1
    UNION ALL
    SELECT entity, 0, actual FROM source WHERE entity = $2
) AS both
GROUP BY entity
HAVING SUM(stored) <> SUM(actual)
ORDER BY entity;

INSERT INTO article_counters (article_id, day, slot, comments)
VALUES ($1, $2, 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
    (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
     WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1),
    pg_backend_pid()) % 32, $3)
ON CONFLICT (article_id, day, slot) DO UPDATE SET comments = article_counters.comments + excluded.comments;

COMMIT;
