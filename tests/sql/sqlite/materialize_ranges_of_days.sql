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
            CASE
                typeof(COALESCE(SUM(CASE WHEN `day` BETWEEN ? AND ? THEN `views` END), 0))
                WHEN 'integer' THEN COALESCE(SUM(CASE WHEN `day` BETWEEN ? AND ? THEN `views` END), 0)
                ELSE abs(-9223372036854775807 - 1)
            END AS total,
            CASE
                typeof(COALESCE(SUM(CASE WHEN `day` BETWEEN ? AND ? THEN `likes` END), 0))
                WHEN 'integer' THEN COALESCE(SUM(CASE WHEN `day` BETWEEN ? AND ? THEN `likes` END), 0)
                ELSE abs(-9223372036854775807 - 1)
            END AS total_1
        FROM `article_counters`
        WHERE `day` BETWEEN ? AND ?
        GROUP BY `article_id`
    ) AS totals ON totals.entity = parent.`id`
) AS compared
WHERE held <> total OR held IS NULL OR held_1 <> total_1 OR held_1 IS NULL
ORDER BY entity;
-- [2026-03-02, 2026-03-02, 2026-03-02, 2026-03-02, 2026-03-02, 2026-03-08, 2026-03-02, 2026-03-08, 2026-03-02, 2026-03-08]

UPDATE `articles` AS parent SET
    `total_views` = wanted.total, `recent_likes` = wanted.total_1
FROM (
    SELECT column1 AS entity, column2 AS held, column3 AS held_1, column4 AS total, column5 AS total_1
    FROM (
        VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
    ) AS listed
) AS wanted
WHERE
    parent.`id` = wanted.entity
    AND (
        parent.`total_views` = wanted.held
        OR parent.`total_views` IS NULL
        AND wanted.held IS NULL
    )
    AND (
        parent.`recent_likes` = wanted.held_1
        OR parent.`recent_likes` IS NULL
        AND wanted.held_1 IS NULL
    );
-- [1, Some(0), None, 2, 0, 2, Some(0), None, 0, 0, 3, Some(0), None, 2, 0, 4, Some(0), None, 0, 0, 5, Some(0), None, 0, 0]

