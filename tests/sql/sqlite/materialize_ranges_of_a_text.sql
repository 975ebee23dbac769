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
            SELECT CASE
                typeof(COALESCE(SUM(`hits`), 0))
                WHEN 'integer' THEN COALESCE(SUM(`hits`), 0)
                ELSE abs(-9223372036854775807 - 1)
            END
            FROM `page_counters` AS totals
            WHERE totals.`path` = parent.`path`
        ) AS total,
        (
            SELECT CASE
                typeof(COALESCE(SUM(`hits`), 0))
                WHEN 'integer' THEN COALESCE(SUM(`hits`), 0)
                ELSE abs(-9223372036854775807 - 1)
            END
            FROM `page_counters` AS totals
            WHERE totals.`path` = parent.`path`
                AND `day` BETWEEN ? AND ?
        ) AS total_1
    FROM `pages` AS parent
) AS compared
WHERE held <> total OR held IS NULL OR held_1 <> total_1 OR held_1 IS NULL
ORDER BY entity;
-- [2026-03-02, 2026-03-02]

UPDATE `pages` AS parent SET
    `all_hits` = wanted.total, `hits_of_a_day` = wanted.total_1
FROM (
    SELECT column1 AS entity, column2 AS held, column3 AS held_1, column4 AS total, column5 AS total_1
    FROM (VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)) AS listed
) AS wanted
WHERE
    parent.`path` = wanted.entity
    AND (parent.`all_hits` = wanted.held OR parent.`all_hits` IS NULL AND wanted.held IS NULL)
    AND (
        parent.`hits_of_a_day` = wanted.held_1
        OR parent.`hits_of_a_day` IS NULL
        AND wanted.held_1 IS NULL
    );
-- ["/a", None, None, 1, 1, "/b", None, None, 0, 0]

