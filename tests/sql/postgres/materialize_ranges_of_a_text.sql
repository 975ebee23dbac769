-- Page::materialize((page_hits::hits, total(page_hits::hits).on(monday())), (pages::all_hits, pages::hits_of_a_day)).execute(conn)

SELECT "path"
FROM "pages"
ORDER BY "path"
LIMIT 1 OFFSET 49999;

BEGIN;

SET LOCAL row_security = off;

SELECT entity, held, held_1, total, total_1
FROM (
    SELECT
        parent."path" AS entity,
        CAST(parent."all_hits" AS BIGINT) AS held,
        parent."hits_of_a_day" AS held_1,
        (
            SELECT CAST(COALESCE(SUM("hits"), 0) AS BIGINT)
            FROM "page_counters" AS totals
            WHERE totals."path" = parent."path"
        ) AS total,
        (
            SELECT CAST(COALESCE(SUM("hits"), 0) AS BIGINT)
            FROM "page_counters" AS totals
            WHERE totals."path" = parent."path"
                AND "day" BETWEEN $1 AND $2
        ) AS total_1
    FROM "pages" AS parent
) AS compared
WHERE held <> total OR held IS NULL OR held_1 <> total_1 OR held_1 IS NULL
ORDER BY entity;
-- [2026-03-02, 2026-03-02]

COMMIT;

UPDATE "pages" AS parent SET
    "all_hits" = wanted.total, "hits_of_a_day" = wanted.total_1
FROM (
    SELECT wanted.*
    FROM (
        SELECT column1 AS entity, column2 AS held, column3 AS held_1, column4 AS total, column5 AS total_1
        FROM (VALUES ($1, $2, $3, $4, $5), ($6, $7, $8, $9, $10)) AS listed
    ) AS wanted
    JOIN
        "pages" AS parent ON parent."path" = wanted.entity
        AND (parent."all_hits" = wanted.held OR parent."all_hits" IS NULL AND wanted.held IS NULL)
        AND (
            parent."hits_of_a_day" = wanted.held_1
            OR parent."hits_of_a_day" IS NULL
            AND wanted.held_1 IS NULL
        )
    ORDER BY entity
    FOR NO KEY UPDATE OF parent
) AS wanted
WHERE
    parent."path" = wanted.entity
    AND (parent."all_hits" = wanted.held OR parent."all_hits" IS NULL AND wanted.held IS NULL)
    AND (
        parent."hits_of_a_day" = wanted.held_1
        OR parent."hits_of_a_day" IS NULL
        AND wanted.held_1 IS NULL
    );
-- ["/a", None, None, 1, 1, "/b", None, None, 0, 0]

