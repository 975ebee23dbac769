-- delete_counters(article_counters::table).of(1_i64).execute(conn)

BEGIN;

SELECT DISTINCT "article_id"
FROM "article_counters"
WHERE "article_id" = $1
ORDER BY "article_id";
-- [1]

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot")
VALUES ($1, $2, 0)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "slot" = excluded."slot";
-- [1, 1970-01-01]

SELECT DISTINCT "article_id"
FROM "article_counters"
WHERE
    "article_id" = ANY($1)
    AND ("day" <> $2 OR "slot" <> 0 OR "views" <> 0 OR "likes" <> 0 OR "comments" <> 0)
ORDER BY "article_id";
-- [[1], 1970-01-01]

DELETE FROM "article_counters"
WHERE "article_id" = ANY($1);
-- [[1]]

DELETE
/* a merge may have inserted rows */
FROM "article_counters"
WHERE "article_id" = ANY($1);
-- [[1]]

COMMIT;

