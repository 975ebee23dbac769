-- set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn)

BEGIN;

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
SELECT "article_id", "day", 0, "views"
FROM unnest($1, $2, $3) AS added ("article_id", "day", "views")
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [[1, 2], [1970-01-01, 1970-01-01], [0, 0]]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "article_counters"
WHERE
    "article_id" = ANY($1)
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [[1, 2]]

SELECT wanted.ordinality, CAST(COALESCE(SUM("views"), 0) AS BIGINT)
FROM (
    SELECT column1 AS entity, column2 AS entity_1, CAST(column3 AS BIGINT) AS ordinality
    FROM (VALUES ($1, $2, 1), ($3, $4, 2)) AS listed
) AS wanted
JOIN
    "article_counters" AS counters ON counters."article_id" = wanted.entity
    AND counters."day" = wanted.entity_1
GROUP BY wanted.ordinality;
-- [1, 2026-03-02, 2, 2026-03-08]

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
SELECT "article_id", "day", 0, "views"
FROM unnest($1, $2, $3) AS added ("article_id", "day", "views")
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [[1, 2], [2026-03-02, 2026-03-08], [1, -1]]

COMMIT;

