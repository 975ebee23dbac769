-- A row for each visitor who likes an article. The next migration counts these rows.
CREATE TABLE article_likes (
    article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    visitor    TEXT   NOT NULL,
    PRIMARY KEY (article_id, visitor)
);

-- The likes until now were only counted. They stay, as those of anonymous visitors.
INSERT INTO article_likes (article_id, visitor)
WITH RECURSIVE old (article_id, likes) AS (
    SELECT article_id, SUM(likes) FROM article_counters GROUP BY article_id HAVING SUM(likes) > 0
),
-- 1, then 2 and 3, then 4 to 7: the recursion is not deep, even for many likes.
numbered (article_id, likes, number) AS (
    SELECT article_id, likes, 1 FROM old
    UNION ALL
    SELECT article_id, likes, 2 * number + bit
    FROM numbered JOIN (SELECT 0 AS bit UNION ALL SELECT 1) AS bits ON 2 * number + bit <= likes
)
SELECT article_id, 'anonymous-' || number FROM numbered;
