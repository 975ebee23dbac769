-- recount(article_counters::comments, comments_by_day!()).between(monday()..=sunday()).execute(conn).map(drop::<Vec<Drift<i64>>>)

WITH
`true_counts` (`entity`, `day`, `actual`) AS (
    SELECT `comments`.`article_id`, date('2026-03-02'), COUNT(*)
    FROM `comments`
    GROUP BY `comments`.`article_id`
)
SELECT `entity`, `day`, COALESCE(SUM(`stored`), 0) DIV 1, COALESCE(SUM(`actual`), 0) DIV 1
FROM (
    SELECT `article_id` AS `entity`, `day` AS `day`, SUM(`comments`) AS `stored`, 0 AS `actual`
    FROM `article_counters`
    WHERE `day` BETWEEN ? AND ?
    GROUP BY `article_id`, `day`
    UNION ALL
    SELECT CAST(`entity` AS SIGNED), CAST(`day` AS DATE), 0, `actual`
    FROM `true_counts`
    WHERE `day` BETWEEN ? AND ?
) AS compared
GROUP BY `entity`, `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`, `day`;
-- [2026-03-02, 2026-03-08, 2026-03-02, 2026-03-08]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0]

WITH
`true_counts` (`entity`, `day`, `actual`) AS (
    SELECT `comments`.`article_id`, date('2026-03-02'), COUNT(*)
    FROM `comments`
    GROUP BY `comments`.`article_id`
)
SELECT `entity`, `day`, COALESCE(SUM(`stored`), 0) DIV 1, COALESCE(SUM(`actual`), 0) DIV 1
FROM (
    SELECT `article_id` AS `entity`, `day` AS `day`, SUM(`comments`) AS `stored`, 0 AS `actual`
    FROM `article_counters`
    WHERE `article_id` IN (?, ?)
        AND `day` BETWEEN ? AND ?
    GROUP BY `article_id`, `day`
    UNION ALL
    SELECT CAST(`entity` AS SIGNED), CAST(`day` AS DATE), 0, `actual`
    FROM `true_counts`
    WHERE `entity` IN (?, ?)
        AND `day` BETWEEN ? AND ?
) AS compared
GROUP BY `entity`, `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`, `day`;
-- [1, 2, 2026-03-02, 2026-03-08, 1, 2, 2026-03-02, 2026-03-08]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?),
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 2026-03-02, 2, 2, 2026-03-02, 1]

COMMIT;

