SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN;

INSERT INTO article_counters (article_id, day, slot, comments)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE comments = comments + VALUES(comments);

WITH source (entity, actual) AS (SELECT article_id, COUNT(*) FROM comments GROUP BY article_id)
SELECT entity, SUM(stored) DIV 1, SUM(actual) DIV 1
FROM (
    SELECT article_id AS entity, comments AS stored, 0 AS actual FROM article_counters WHERE article_id = ?
    UNION ALL
    SELECT entity, 0, actual FROM source WHERE entity = ?
) AS compared
GROUP BY entity
HAVING SUM(stored) <> SUM(actual)
ORDER BY entity;

INSERT INTO article_counters (article_id, day, slot, comments)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE comments = comments + VALUES(comments);

COMMIT;
