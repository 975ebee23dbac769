-- recount(article_counters::comments, comments_by_day!()).of(2_i64).execute::<i64, _>(conn)

BEGIN;

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `comments` = CASE
        typeof(counters.`comments` + excluded.`comments`)
        WHEN 'integer' THEN counters.`comments` + excluded.`comments`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [2, 1970-01-01, 0]

WITH
`true_counts` (`entity`, `day`, `actual`) AS (
    SELECT `comments`.`article_id`, date('2026-03-02'), COUNT(*)
    FROM `comments`
    GROUP BY `comments`.`article_id`
)
SELECT
    `entity`,
    `day`,
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
    SELECT `article_id` AS `entity`, `day` AS `day`, SUM(`comments`) AS `stored`, 0 AS `actual`
    FROM `article_counters`
    WHERE `article_id` = ?
    GROUP BY `article_id`, `day`
    UNION ALL
    SELECT `entity`, `day`, 0, `actual`
    FROM `true_counts`
    WHERE `entity` = ?
) AS compared
GROUP BY `entity`, `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`, `day`;
-- [2, 2]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `comments` = CASE
        typeof(counters.`comments` + excluded.`comments`)
        WHEN 'integer' THEN counters.`comments` + excluded.`comments`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [2, 2026-03-02, 1]

COMMIT;

