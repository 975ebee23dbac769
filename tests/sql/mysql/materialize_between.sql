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
        SELECT `article_id` AS entity, COALESCE(SUM(`views`), 0) DIV 1 AS total
        FROM `article_counters`
        WHERE `day` BETWEEN ? AND ?
        GROUP BY `article_id`
    ) AS totals ON totals.entity = parent.`id`
) AS compared
WHERE held <> total OR held IS NULL
ORDER BY entity;
-- [2026-03-02, 2026-03-08]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

UPDATE (
    (
        SELECT `id` AS entity, `total_views` AS held, `total_views` AS total
        FROM `articles`
        LIMIT 0
    )
    UNION ALL
    SELECT ?, ?, ?
    UNION ALL
    SELECT ?, ?, ?
    UNION ALL
    SELECT ?, ?, ?
) AS wanted STRAIGHT_JOIN `articles` AS parent ON parent.`id` = wanted.entity
    AND (
        parent.`total_views` = wanted.held
        OR parent.`total_views` IS NULL
        AND wanted.held IS NULL
    )
SET parent.`total_views` = wanted.total;
-- [1, Some(0), 2, 2, Some(0), 5, 3, Some(0), 2]

