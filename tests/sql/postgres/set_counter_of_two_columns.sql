-- set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn)

BEGIN;

INSERT INTO "reaction_counters" AS counters ("article_id", "emoji", "day", "slot", "given")
VALUES ($1, $2, $3, 0, $4)
ON CONFLICT ("article_id", "emoji", "day", "slot") DO UPDATE SET
    "given" = counters."given" + excluded."given";
-- [1, "👍", 1970-01-01, 0]

SELECT 1
/* fails if a row was deleted since the snapshot */
FROM "reaction_counters"
WHERE
    "article_id" = $1
    AND "emoji" = $2
    AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
FOR KEY SHARE;
-- [1, "👍"]

SELECT CAST(COALESCE(SUM("given"), 0) AS BIGINT)
FROM "reaction_counters"
WHERE "article_id" = $1 AND "emoji" = $2 AND "day" BETWEEN $3 AND $4;
-- [1, "👍", 2026-03-02, 2026-03-02]

INSERT INTO "reaction_counters" AS counters ("article_id", "emoji", "day", "slot", "given")
VALUES (
    $1,
    $2,
    $3,
    1 + COALESCE(
        NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (
            SELECT set_config('diesel_counters.number', n::text, false)::int
            FROM generate_series(0, 999) AS n
            WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n)
            LIMIT 1
        ),
        pg_backend_pid()
    ) % 32,
    $4
)
ON CONFLICT ("article_id", "emoji", "day", "slot") DO UPDATE SET
    "given" = counters."given" + excluded."given";
-- [1, "👍", 2026-03-02, 5]

COMMIT;

