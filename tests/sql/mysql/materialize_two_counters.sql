-- Post::materialize((post_counts::views, post_counts::likes), (posts::total_views, posts::total_likes)).execute(conn)

SELECT `id`
FROM `articles`
ORDER BY `id`
LIMIT 1 OFFSET 49999;

SELECT entity, held, held_1, total, total_1
FROM (
    SELECT
        parent.`id` AS entity,
        parent.`total_views` AS held,
        parent.`total_likes` AS held_1,
        COALESCE(totals.total, 0) AS total,
        COALESCE(totals.total_1, 0) AS total_1
    FROM `articles` AS parent
    LEFT JOIN (
        SELECT
            `article_id` AS entity,
            COALESCE(SUM(`views`), 0) DIV 1 AS total,
            COALESCE(SUM(`likes`), 0) DIV 1 AS total_1
        FROM `article_counters`
        GROUP BY `article_id`
    ) AS totals ON totals.entity = parent.`id`
) AS compared
WHERE held <> total OR held IS NULL OR held_1 <> total_1 OR held_1 IS NULL
ORDER BY entity;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

UPDATE
    (
        (
            SELECT
                `id` AS entity,
                `total_views` AS held,
                `total_likes` AS held_1,
                `total_views` AS total,
                `total_likes` AS total_1
            FROM `articles`
            LIMIT 0
        )
        UNION ALL
        SELECT ?, ?, ?, ?, ?
        UNION ALL
        SELECT ?, ?, ?, ?, ?
        UNION ALL
        SELECT ?, ?, ?, ?, ?
        UNION ALL
        SELECT ?, ?, ?, ?, ?
        UNION ALL
        SELECT ?, ?, ?, ?, ?
    ) AS wanted STRAIGHT_JOIN `articles` AS parent ON parent.`id` = wanted.entity
    AND (
        parent.`total_views` = wanted.held
        OR parent.`total_views` IS NULL
        AND wanted.held IS NULL
    )
    AND (
        parent.`total_likes` = wanted.held_1
        OR parent.`total_likes` IS NULL
        AND wanted.held_1 IS NULL
    )
SET parent.`total_views` = wanted.total, parent.`total_likes` = wanted.total_1;
-- [1, Some(0), None, 2, 0, 2, Some(0), None, 5, 0, 3, Some(0), None, 2, 0, 4, Some(0), None, 0, 0, 5, Some(0), None, 0, 0]

