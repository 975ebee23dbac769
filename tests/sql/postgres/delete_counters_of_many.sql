-- delete_counters(article_counters::table).of_many([1_i64, 2, 3]).execute(conn)

BEGIN;

SELECT DISTINCT "article_id"
FROM "article_counters"
WHERE "article_id" = ANY($1)
ORDER BY "article_id";
-- [[1, 2, 3]]

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot")
SELECT "article_id", "day", 0
FROM unnest($1, $2) AS added ("article_id", "day")
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "slot" = excluded."slot";
-- [[1, 2, 3], [1970-01-01, 1970-01-01, 1970-01-01]]

SELECT DISTINCT "article_id"
FROM "article_counters"
WHERE
    "article_id" = ANY($1)
    AND ("day" <> $2 OR "slot" <> 0 OR "views" <> 0 OR "likes" <> 0 OR "comments" <> 0)
ORDER BY "article_id";
-- [[1, 2, 3], 1970-01-01]

DELETE FROM "article_counters"
WHERE "article_id" = ANY($1);
-- [[1, 2, 3]]

DELETE
/* a merge may have inserted rows */
FROM "article_counters"
WHERE "article_id" = ANY($1);
-- [[1, 2, 3]]

COMMIT;

