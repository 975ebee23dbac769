-- delete_counters(version_counters::table).of(1).execute(conn)

BEGIN;

SELECT DISTINCT "crate_id", "number"
FROM "version_counters"
WHERE "crate_id" = $1
ORDER BY "crate_id", "number";
-- [1]

INSERT INTO "version_counters" AS counters ("crate_id", "number", "day", "slot")
VALUES ($1, $2, $3, 0)
ON CONFLICT ("crate_id", "number", "day", "slot") DO UPDATE SET
    "slot" = excluded."slot";
-- [1, "1.0", 1970-01-01]

SELECT DISTINCT "crate_id", "number"
FROM "version_counters"
WHERE
    ("crate_id", "number") IN (SELECT * FROM unnest($1, $2))
    AND ("day" <> $3 OR "slot" <> 0 OR "downloads" <> 0 OR "failures" <> 0)
ORDER BY "crate_id", "number";
-- [[1], ["1.0"], 1970-01-01]

DELETE FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT * FROM unnest($1, $2));
-- [[1], ["1.0"]]

DELETE
/* a merge may have inserted rows */
FROM "version_counters"
WHERE ("crate_id", "number") IN (SELECT * FROM unnest($1, $2));
-- [[1], ["1.0"]]

SELECT DISTINCT "crate_id", "number"
FROM "version_counters"
WHERE "crate_id" = $1
ORDER BY "crate_id", "number";
-- [1]

COMMIT;

