-- compact(reaction_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT pg_try_advisory_lock(hashtext('diesel_counters/merge'), $1::regclass::oid::int);
-- ["\"reaction_counters\""]

SELECT COUNT(*)
FROM "reaction_counters"
WHERE "day" < $1 AND "slot" <> 0;
-- [2026-04-01]

SELECT "article_id", "emoji", "day", "slot"
FROM "reaction_counters"
WHERE "day" < $1 AND "slot" <> 0
ORDER BY "article_id", "emoji", "day", "slot"
LIMIT 100;
-- [2026-04-01]

BEGIN;

SET LOCAL row_security = off;

INSERT INTO "reaction_counters" AS counters ("article_id", "emoji", "day", "slot", "given")
VALUES ($1, $2, $3, $4, 0)
ON CONFLICT ("article_id", "emoji", "day", "slot") DO NOTHING;
-- [1, "👍", 2026-03-02, 0]

SELECT "article_id", "emoji", "day", "slot", *
FROM "reaction_counters"
WHERE
    ("article_id", "emoji", "day", "slot") IN (VALUES ($1, $2, $3, $4), ($5, $6, $7, $8), ($9, $10, $11, $12))
FOR UPDATE SKIP LOCKED;
-- [1, "👍", 2026-03-02, 0, 1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

INSERT INTO "reaction_counters" AS counters ("article_id", "emoji", "day", "slot", "given")
SELECT "article_id", "emoji", "day", 0, COALESCE(SUM("given"), 0)
FROM "reaction_counters"
WHERE ("article_id", "emoji", "day", "slot") IN (VALUES ($1, $2, $3, $4), ($5, $6, $7, $8))
GROUP BY "article_id", "emoji", "day"
ORDER BY "article_id", "emoji", "day"
ON CONFLICT ("article_id", "emoji", "day", "slot") DO UPDATE SET
    "given" = counters."given" + excluded."given";
-- [1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

DELETE FROM "reaction_counters"
WHERE ("article_id", "emoji", "day", "slot") IN (VALUES ($1, $2, $3, $4), ($5, $6, $7, $8));
-- [1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

COMMIT;

SELECT "article_id", "emoji", "day", "slot"
FROM "reaction_counters"
WHERE "day" < $1 AND "slot" <> 0 AND ("article_id", "emoji", "day", "slot") > ($2, $3, $4, $5)
ORDER BY "article_id", "emoji", "day", "slot"
LIMIT 100;
-- [2026-04-01, 1, "👍", 2026-03-02, 5]

SELECT COUNT(*)
FROM "reaction_counters"
WHERE "day" < $1 AND "slot" <> 0;
-- [2026-04-01]

SELECT pg_advisory_unlock(hashtext('diesel_counters/merge'), $1::regclass::oid::int);
-- ["\"reaction_counters\""]

