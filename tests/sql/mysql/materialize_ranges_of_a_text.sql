-- Page::materialize((page_hits::hits, total(page_hits::hits).on(monday())), (pages::all_hits, pages::hits_of_a_day)).execute(conn)

SELECT `path`
FROM `pages`
ORDER BY `path`
LIMIT 1 OFFSET 49999;

SELECT entity, held, held_1, total, total_1
FROM (
    SELECT
        parent.`path` AS entity,
        parent.`all_hits` AS held,
        parent.`hits_of_a_day` AS held_1,
        (
            SELECT COALESCE(SUM(`hits`), 0) DIV 1
            FROM `page_counters` AS totals
            WHERE totals.`path` = parent.`path`
        ) AS total,
        (
            SELECT COALESCE(SUM(`hits`), 0) DIV 1
            FROM `page_counters` AS totals
            WHERE totals.`path` = parent.`path`
                AND `day` BETWEEN ? AND ?
        ) AS total_1
    FROM `pages` AS parent
) AS compared
WHERE held <> total OR held IS NULL OR held_1 <> total_1 OR held_1 IS NULL
ORDER BY entity;
-- [2026-03-02, 2026-03-02]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

UPDATE
    (
        (
            SELECT
                `path` AS entity,
                `all_hits` AS held,
                `hits_of_a_day` AS held_1,
                `all_hits` AS total,
                `hits_of_a_day` AS total_1
            FROM `pages`
            LIMIT 0
        )
        UNION ALL
        SELECT ?, ?, ?, ?, ?
        UNION ALL
        SELECT ?, ?, ?, ?, ?
    ) AS wanted STRAIGHT_JOIN `pages` AS parent ON parent.`path` = wanted.entity
    AND (parent.`all_hits` = wanted.held OR parent.`all_hits` IS NULL AND wanted.held IS NULL)
    AND (
        parent.`hits_of_a_day` = wanted.held_1
        OR parent.`hits_of_a_day` IS NULL
        AND wanted.held_1 IS NULL
    )
SET parent.`all_hits` = wanted.total, parent.`hits_of_a_day` = wanted.total_1;
-- ["/a", None, None, 1, 1, "/b", None, None, 0, 0]

