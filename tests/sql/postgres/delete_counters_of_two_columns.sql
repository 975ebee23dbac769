-- delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn)

BEGIN;

SELECT DISTINCT "article_id", "emoji"
FROM "reaction_counters"
WHERE "article_id" = $1 AND "emoji" = $2
ORDER BY "article_id", "emoji";
-- [1, "👍"]

INSERT INTO "reaction_counters" AS counters ("article_id", "emoji", "day", "slot")
VALUES ($1, $2, $3, 0)
ON CONFLICT ("article_id", "emoji", "day", "slot") DO UPDATE SET
    "slot" = excluded."slot";
-- [1, "👍", 1970-01-01]

SELECT DISTINCT "article_id", "emoji"
FROM "reaction_counters"
WHERE
    ("article_id", "emoji") IN (SELECT * FROM unnest($1, $2))
    AND ("day" <> $3 OR "slot" <> 0 OR "given" <> 0)
ORDER BY "article_id", "emoji";
-- [[1], ["👍"], 1970-01-01]

DELETE FROM "reaction_counters"
WHERE ("article_id", "emoji") IN (SELECT * FROM unnest($1, $2));
-- [[1], ["👍"]]

DELETE
/* a merge may have inserted rows */
FROM "reaction_counters"
WHERE ("article_id", "emoji") IN (SELECT * FROM unnest($1, $2));
-- [[1], ["👍"]]

COMMIT;

