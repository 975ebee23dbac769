-- recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn)

BEGIN;

SET LOCAL row_security = off;

WITH
"true_counts" ("entity", "actual") AS (
    SELECT "comments"."article_id", COUNT(*)
    FROM "comments"
    GROUP BY "comments"."article_id"
)
SELECT "entity", CAST(COALESCE(SUM("stored"), 0) AS BIGINT), CAST(COALESCE(SUM("actual"), 0) AS BIGINT)
FROM (
    SELECT "article_id" AS "entity", SUM("comments") AS "stored", 0 AS "actual"
    FROM "article_counters"
    GROUP BY "article_id"
    UNION ALL
    SELECT "entity", 0, "actual"
    FROM "true_counts"
) AS compared
GROUP BY "entity"
HAVING SUM("stored") <> SUM("actual")
ORDER BY "entity";

COMMIT;

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "comments")
SELECT "article_id", "day", 0, "comments"
FROM unnest($1, $2, $3) AS added ("article_id", "day", "comments")
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "comments" = counters."comments" + excluded."comments";
-- [[1, 2], [1970-01-01, 1970-01-01], [0, 0]]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "article_counters"
WHERE
    "article_id" = ANY($1)
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [[1, 2]]

WITH
"true_counts" ("entity", "actual") AS (
    SELECT "comments"."article_id", COUNT(*)
    FROM "comments"
    GROUP BY "comments"."article_id"
)
SELECT "entity", CAST(COALESCE(SUM("stored"), 0) AS BIGINT), CAST(COALESCE(SUM("actual"), 0) AS BIGINT)
FROM (
    SELECT "article_id" AS "entity", SUM("comments") AS "stored", 0 AS "actual"
    FROM "article_counters"
    WHERE "article_id" = ANY($1)
    GROUP BY "article_id"
    UNION ALL
    SELECT "entity", 0, "actual"
    FROM "true_counts"
    WHERE "entity" = ANY($2)
) AS compared
GROUP BY "entity"
HAVING SUM("stored") <> SUM("actual")
ORDER BY "entity";
-- [[1, 2], [1, 2]]

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "comments")
SELECT
    "article_id",
    "day",
    (
        SELECT
            1 + COALESCE(
                NULLIF(current_setting('diesel_counters.number', true), '')::int,
                (
                    SELECT set_config('diesel_counters.number', n::text, false)::int
                    FROM generate_series(0, 999) AS n
                    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n)
                    LIMIT 1
                ),
                pg_backend_pid()
            ) % 32
    ),
    "comments"
FROM unnest($1, $2, $3) AS added ("article_id", "day", "comments")
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "comments" = counters."comments" + excluded."comments";
-- [[1, 2], [2026-12-28, 2026-12-28], [2, 1]]

COMMIT;

