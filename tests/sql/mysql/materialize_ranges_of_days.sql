-- Post::materialize((total(post_counts::views).on(monday()), total(post_counts::likes).between(monday()..=sunday())), (posts::total_views, posts::recent_likes)).execute(conn)

SELECT `id`
FROM `articles`
ORDER BY `id`
LIMIT 1 OFFSET 49999;

SELECT entity, held, held_1, total, total_1
FROM (
    SELECT
        parent.`id` AS entity,
        parent.`total_views` AS held,
        parent.`recent_likes` AS held_1,
        COALESCE(totals.total, 0) AS total,
        COALESCE(totals.total_1, 0) AS total_1
    FROM `articles` AS parent
    LEFT JOIN (
        SELECT
            `article_id` AS entity,
            COALESCE(SUM(CASE WHEN `day` BETWEEN ? AND ? THEN `views` END), 0) DIV 1 AS total,
            COALESCE(SUM(CASE WHEN `day` BETWEEN ? AND ? THEN `likes` END), 0) DIV 1 AS total_1
        FROM `article_counters`
        WHERE `day` BETWEEN ? AND ?
        GROUP BY `article_id`
    ) AS totals ON totals.entity = parent.`id`
) AS compared
WHERE held <> total OR held IS NULL OR held_1 <> total_1 OR held_1 IS NULL
ORDER BY entity;
-- [2026-03-02, 2026-03-02, 2026-03-02, 2026-03-08, 2026-03-02, 2026-03-08]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

UPDATE
    (
        (
            SELECT
                `id` AS entity,
                `total_views` AS held,
                `recent_likes` AS held_1,
                `total_views` AS total,
                `recent_likes` AS total_1
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
        parent.`recent_likes` = wanted.held_1
        OR parent.`recent_likes` IS NULL
        AND wanted.held_1 IS NULL
    )
SET parent.`total_views` = wanted.total, parent.`recent_likes` = wanted.total_1;
-- [1, Some(0), None, 2, 0, 2, Some(0), None, 0, 0, 3, Some(0), None, 2, 0, 4, Some(0), None, 0, 0, 5, Some(0), None, 0, 0]

