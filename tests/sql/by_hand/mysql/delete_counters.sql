SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN;

SELECT DISTINCT article_id FROM article_counters WHERE article_id = ?;

-- Other corrections of these articles wait here.
INSERT INTO article_counters (article_id, day, slot) VALUES (?, ?, 0)
ON DUPLICATE KEY UPDATE slot = VALUES(slot);

DELETE FROM article_counters WHERE article_id = ?;

-- Until it deletes none: a merge that committed meanwhile has inserted a row.
DELETE FROM article_counters WHERE article_id = ?;

COMMIT;
