-- recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn)

WITH
`true_counts` (`entity`, `actual`) AS (
    SELECT `comments`.`article_id`, COUNT(*)
    FROM `comments`
    GROUP BY `comments`.`article_id`
)
SELECT
    `entity`,
    CASE
        typeof(COALESCE(SUM(`stored`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`stored`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END,
    CASE
        typeof(COALESCE(SUM(`actual`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`actual`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT `article_id` AS `entity`, SUM(`comments`) AS `stored`, 0 AS `actual`
    FROM `article_counters`
    GROUP BY `article_id`
    UNION ALL
    SELECT `entity`, 0, `actual`
    FROM `true_counts`
) AS compared
GROUP BY `entity`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`;

BEGIN;

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `comments` = CASE
        typeof(counters.`comments` + excluded.`comments`)
        WHEN 'integer' THEN counters.`comments` + excluded.`comments`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0]

WITH
`true_counts` (`entity`, `actual`) AS (
    SELECT `comments`.`article_id`, COUNT(*)
    FROM `comments`
    GROUP BY `comments`.`article_id`
)
SELECT
    `entity`,
    CASE
        typeof(COALESCE(SUM(`stored`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`stored`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END,
    CASE
        typeof(COALESCE(SUM(`actual`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`actual`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT `article_id` AS `entity`, SUM(`comments`) AS `stored`, 0 AS `actual`
    FROM `article_counters`
    WHERE `article_id` IN (?, ?)
    GROUP BY `article_id`
    UNION ALL
    SELECT `entity`, 0, `actual`
    FROM `true_counts`
    WHERE `entity` IN (?, ?)
) AS compared
GROUP BY `entity`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`;
-- [1, 2, 1, 2]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `comments` = CASE
        typeof(counters.`comments` + excluded.`comments`)
        WHEN 'integer' THEN counters.`comments` + excluded.`comments`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-12-28, 2, 2, 2026-12-28, 1]

COMMIT;

