SELECT pg_try_advisory_lock(hashtext('diesel_counters/merge'), 'article_counters'::regclass::oid::int);

SELECT COUNT(*) FROM article_counters WHERE day >= $1 AND day < $2 AND slot <> 0;

SELECT article_id, day, slot FROM article_counters WHERE day >= $1 AND day < $2 AND slot <> 0
ORDER BY article_id, day, slot LIMIT 100;

BEGIN;
SET LOCAL row_security = off;

-- The rows to add to.
INSERT INTO article_counters (article_id, day, slot, views, likes, comments)
VALUES ($1, $2, 0, 0, 0, 0), ($3, $4, 0, 0, 0, 0)
ON CONFLICT (article_id, day, slot) DO NOTHING;

-- These and the rows to merge, without waiting for any.
SELECT * FROM article_counters
WHERE (article_id, day, slot) IN (VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9), ($10, $11, $12))
FOR UPDATE SKIP LOCKED;

INSERT INTO article_counters (article_id, day, slot, views, likes, comments)
SELECT article_id, day, 0, SUM(views), SUM(likes), SUM(comments)
FROM article_counters
WHERE (article_id, day, slot) IN (VALUES ($1, $2, $3), ($4, $5, $6))
GROUP BY article_id, day
ORDER BY article_id, day
ON CONFLICT (article_id, day, slot) DO UPDATE
SET views = article_counters.views + excluded.views, likes = article_counters.likes + excluded.likes,
    comments = article_counters.comments + excluded.comments;

DELETE FROM article_counters
WHERE (article_id, day, slot) IN (VALUES ($1, $2, $3), ($4, $5, $6));

COMMIT;

SELECT pg_advisory_unlock(hashtext('diesel_counters/merge'), 'article_counters'::regclass::oid::int);
