SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN;

-- Other corrections of the article wait here. Increments don't.
INSERT INTO article_counters (article_id, day, slot, views)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE views = views + VALUES(views);

SELECT COALESCE(SUM(views), 0) DIV 1 FROM article_counters WHERE article_id = ?;

INSERT INTO article_counters (article_id, day, slot, views)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE views = views + VALUES(views);

COMMIT;
