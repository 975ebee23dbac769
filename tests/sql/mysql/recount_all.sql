-- recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn)

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
    GROUP BY `article_id`
    UNION ALL
    SELECT CAST(`entity` AS SIGNED), 0, `actual`
    FROM `true_counts`
) AS compared
GROUP BY `entity`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0]

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
    WHERE `article_id` IN (?, ?)
    GROUP BY `article_id`
    UNION ALL
    SELECT CAST(`entity` AS SIGNED), 0, `actual`
    FROM `true_counts`
    WHERE `entity` IN (?, ?)
) AS compared
GROUP BY `entity`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`;
-- [1, 2, 1, 2]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?),
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 2026-12-28, 2, 2, 2026-12-28, 1]

COMMIT;

