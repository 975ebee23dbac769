-- Article::materialize(views, articles::total_views).between(monday()..=sunday()).execute(conn)

SELECT `id`
FROM `articles`
ORDER BY `id`
LIMIT 1 OFFSET 49999;

SELECT entity, held, total
FROM (
    SELECT parent.`id` AS entity, parent.`total_views` AS held, COALESCE(totals.total, 0) AS total
    FROM `articles` AS parent
    LEFT JOIN (
        SELECT
            `article_id` AS entity,
            CASE
                typeof(COALESCE(SUM(`views`), 0))
                WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
                ELSE abs(-9223372036854775807 - 1)
            END AS total
        FROM `article_counters`
        WHERE `day` BETWEEN ? AND ?
        GROUP BY `article_id`
    ) AS totals ON totals.entity = parent.`id`
) AS compared
WHERE held <> total OR held IS NULL
ORDER BY entity;
-- [2026-03-02, 2026-03-08]

UPDATE `articles` AS parent SET
    `total_views` = wanted.total
FROM (
    SELECT column1 AS entity, column2 AS held, column3 AS total
    FROM (VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?)) AS listed
) AS wanted
WHERE
    parent.`id` = wanted.entity
    AND (
        parent.`total_views` = wanted.held
        OR parent.`total_views` IS NULL
        AND wanted.held IS NULL
    );
-- [1, Some(0), 2, 2, Some(0), 5, 3, Some(0), 2]

