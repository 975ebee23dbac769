BEGIN;

SELECT DISTINCT article_id FROM article_counters WHERE article_id = $1;

-- Other corrections of these articles wait here.
INSERT INTO article_counters (article_id, day, slot) VALUES ($1, $2, 0)
ON CONFLICT (article_id, day, slot) DO UPDATE SET slot = excluded.slot;

DELETE FROM article_counters WHERE article_id = $1;

-- Until it deletes none: a merge that committed meanwhile has inserted a row.
DELETE FROM article_counters WHERE article_id = $1;

COMMIT;
