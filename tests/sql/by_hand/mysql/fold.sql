SELECT GET_LOCK(SHA2(CONCAT(DATABASE(), '.article_counters'), 224), 0);

SELECT COUNT(*) FROM article_counters WHERE day >= ? AND day < ? AND (slot <> 0 OR day <> DATE '1970-01-01');

SELECT article_id, day, slot FROM article_counters WHERE day >= ? AND day < ? AND (slot <> 0 OR day <> DATE '1970-01-01')
ORDER BY article_id, day, slot LIMIT 100;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN;

-- The rows to add to.
INSERT INTO article_counters (article_id, day, slot, views, likes, comments)
VALUES (?, ?, 0, 0, 0, 0), (?, ?, 0, 0, 0, 0)
ON DUPLICATE KEY UPDATE slot = VALUES(slot);

-- These and the rows to merge, without waiting for any.
SELECT * FROM article_counters FORCE INDEX (PRIMARY)
WHERE (article_id, day, slot) IN ((?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?))
FOR UPDATE SKIP LOCKED;

INSERT INTO article_counters (article_id, day, slot, views, likes, comments)
SELECT article_id, DATE '1970-01-01', 0, SUM(views), SUM(likes), SUM(comments)
FROM article_counters FORCE INDEX (PRIMARY)
WHERE (article_id, day, slot) IN ((?, ?, ?), (?, ?, ?))
GROUP BY article_id
ORDER BY article_id
ON DUPLICATE KEY UPDATE views = views + VALUES(views), likes = likes + VALUES(likes),
    comments = comments + VALUES(comments);

DELETE FROM article_counters
WHERE (article_id, day, slot) IN ((?, ?, ?), (?, ?, ?));

COMMIT;

SELECT RELEASE_LOCK(SHA2(CONCAT(DATABASE(), '.article_counters'), 224));
