-- fold(article_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT pg_try_advisory_lock(hashtext('diesel_counters/merge'), $1::regclass::oid::int);
-- ["\"article_counters\""]

SELECT COUNT(*)
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2;
-- [1970-01-02, 2026-04-01]

SELECT "article_id", "day", "slot"
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2
ORDER BY "article_id", "day", "slot"
LIMIT 100;
-- [1970-01-02, 2026-04-01]

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views", "likes", "comments")
VALUES ($1, $2, $3, 0, 0, 0), ($4, $5, $6, 0, 0, 0), ($7, $8, $9, 0, 0, 0)
ON CONFLICT ("article_id", "day", "slot") DO NOTHING;
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0, 3, 1970-01-01, 0]

SELECT "article_id", "day", "slot", *
FROM "article_counters"
WHERE
    ("article_id", "day", "slot") IN (
        VALUES
            ($1, $2, $3),
            ($4, $5, $6),
            ($7, $8, $9),
            ($10, $11, $12),
            ($13, $14, $15),
            ($16, $17, $18),
            ($19, $20, $21)
    )
FOR UPDATE SKIP LOCKED;
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0, 3, 1970-01-01, 0, 1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views", "likes", "comments")
SELECT
    "article_id",
    DATE '1970-01-01',
    0,
    COALESCE(SUM("views"), 0),
    COALESCE(SUM("likes"), 0),
    COALESCE(SUM("comments"), 0)
FROM "article_counters"
WHERE
    ("article_id", "day", "slot") IN (VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9), ($10, $11, $12))
GROUP BY "article_id"
ORDER BY "article_id"
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views",
    "likes" = counters."likes" + excluded."likes",
    "comments" = counters."comments" + excluded."comments";
-- [1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

DELETE FROM "article_counters"
WHERE ("article_id", "day", "slot") IN (VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9), ($10, $11, $12));
-- [1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

COMMIT;

SELECT "article_id", "day", "slot"
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2 AND ("article_id", "day", "slot") > ($3, $4, $5)
ORDER BY "article_id", "day", "slot"
LIMIT 100;
-- [1970-01-02, 2026-04-01, 3, 2026-03-02, 3]

SELECT COUNT(*)
FROM "article_counters"
WHERE "day" >= $1 AND "day" < $2;
-- [1970-01-02, 2026-04-01]

SELECT pg_advisory_unlock(hashtext('diesel_counters/merge'), $1::regclass::oid::int);
-- ["\"article_counters\""]

