-- recount(weekly_counters::comments, comments_by_article()).of(&WeeklyArticle { id: 1 }).execute::<i64, _>(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 1970-01-01, 0]

WITH
`true_counts` (`entity`, `actual`) AS (
    SELECT `comments`.`article_id`, COUNT(*)
    FROM `comments`
    GROUP BY `comments`.`article_id`
)
SELECT `entity`, COALESCE(SUM(`stored`), 0) DIV 1, COALESCE(SUM(`actual`), 0) DIV 1
FROM (
    SELECT `article_id` AS `entity`, SUM(`comments`) AS `stored`, 0 AS `actual`
    FROM `article_counters`
    WHERE `article_id` = ?
    GROUP BY `article_id`
    UNION ALL
    SELECT CAST(`entity` AS SIGNED), 0, `actual`
    FROM `true_counts`
    WHERE `entity` = ?
) AS compared
GROUP BY `entity`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`;
-- [1, 1]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 2026-12-28, 2]

COMMIT;

