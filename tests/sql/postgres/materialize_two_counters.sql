-- Post::materialize((post_counts::views, post_counts::likes), (posts::total_views, posts::total_likes)).execute(conn)

SELECT "id"
FROM "articles"
ORDER BY "id"
LIMIT 1 OFFSET 49999;

BEGIN;

SET LOCAL row_security = off;

SELECT entity, held, held_1, total, total_1
FROM (
    SELECT
        parent."id" AS entity,
        parent."total_views" AS held,
        parent."total_likes" AS held_1,
        COALESCE(totals.total, 0) AS total,
        COALESCE(totals.total_1, 0) AS total_1
    FROM "articles" AS parent
    LEFT JOIN (
        SELECT
            "article_id" AS entity,
            CAST(COALESCE(SUM("views"), 0) AS BIGINT) AS total,
            CAST(COALESCE(SUM("likes"), 0) AS BIGINT) AS total_1
        FROM "article_counters"
        GROUP BY "article_id"
    ) AS totals ON totals.entity = parent."id"
) AS compared
WHERE held <> total OR held IS NULL OR held_1 <> total_1 OR held_1 IS NULL
ORDER BY entity;

COMMIT;

UPDATE "articles" AS parent SET
    "total_views" = wanted.total, "total_likes" = wanted.total_1
FROM (
    SELECT wanted.*
    FROM (
        SELECT column1 AS entity, column2 AS held, column3 AS held_1, column4 AS total, column5 AS total_1
        FROM (
            VALUES
                ($1, $2, $3, $4, $5),
                ($6, $7, $8, $9, $10),
                ($11, $12, $13, $14, $15),
                ($16, $17, $18, $19, $20),
                ($21, $22, $23, $24, $25)
        ) AS listed
    ) AS wanted
    JOIN
        "articles" AS parent ON parent."id" = wanted.entity
        AND (
            parent."total_views" = wanted.held
            OR parent."total_views" IS NULL
            AND wanted.held IS NULL
        )
        AND (
            parent."total_likes" = wanted.held_1
            OR parent."total_likes" IS NULL
            AND wanted.held_1 IS NULL
        )
    ORDER BY entity
    FOR NO KEY UPDATE OF parent
) AS wanted
WHERE
    parent."id" = wanted.entity
    AND (
        parent."total_views" = wanted.held
        OR parent."total_views" IS NULL
        AND wanted.held IS NULL
    )
    AND (
        parent."total_likes" = wanted.held_1
        OR parent."total_likes" IS NULL
        AND wanted.held_1 IS NULL
    );
-- [1, Some(0), None, 2, 0, 2, Some(0), None, 5, 0, 3, Some(0), None, 2, 0, 4, Some(0), None, 0, 0, 5, Some(0), None, 0, 0]

