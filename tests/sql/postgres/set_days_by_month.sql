-- set_counter(monthly_counters::views).of_days([(1_i64, monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
VALUES ($1, $2, 0, $3)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [1, 1970-01-01, 0]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "article_counters"
WHERE
    "article_id" = ANY($1)
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [[1]]

SELECT wanted.ordinality, CAST(COALESCE(SUM("views"), 0) AS BIGINT)
FROM (
    SELECT column1 AS entity, column2 AS entity_1, column3 AS entity_2, CAST(column4 AS BIGINT) AS ordinality
    FROM (VALUES ($1, $2, $3, 1)) AS listed
) AS wanted
JOIN
    "article_counters" AS counters ON counters."article_id" = wanted.entity
    AND "day" BETWEEN wanted.entity_1 AND wanted.entity_2
GROUP BY wanted.ordinality;
-- [1, 2026-03-01, 2026-03-31]

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
VALUES ($1, $2, 0, $3)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [1, 2026-03-01, 1]

COMMIT;

