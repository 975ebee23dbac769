-- take(tickets::remaining).of(1_i64).by(2).execute(conn)

UPDATE "tickets" SET
    "remaining" = "remaining" - $1
WHERE
    "event_id" = $2
    AND "day" = $3
    AND "slot" = (
        SELECT "slot"
        FROM "tickets"
        WHERE
            "event_id" = $4
            AND "day" = $5
            AND "remaining" >= $6
            AND "slot" >= (
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
            )
        ORDER BY "slot"
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    )
    AND "remaining" >= $7;
-- [2, 1, 1970-01-01, 1, 1970-01-01, 2, 2]

SELECT CAST(COALESCE(SUM("remaining"), 0) AS BIGINT)
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2;
-- [1, 1970-01-01]

UPDATE "tickets" SET
    "remaining" = "remaining" - $1
WHERE
    "event_id" = $2
    AND "day" = $3
    AND "slot" = (
        SELECT "slot"
        FROM "tickets"
        WHERE
            "event_id" = $4
            AND "day" = $5
            AND "remaining" >= $6
            AND "slot" < (
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
            )
        ORDER BY "slot"
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    )
    AND "remaining" >= $7;
-- [2, 1, 1970-01-01, 1, 1970-01-01, 2, 2]

SELECT CAST(COALESCE(SUM("remaining"), 0) AS BIGINT)
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2;
-- [1, 1970-01-01]

BEGIN;

INSERT INTO "tickets" AS counters ("event_id", "day", "slot", "remaining")
VALUES ($1, $2, 0, $3)
ON CONFLICT ("event_id", "day", "slot") DO UPDATE SET
    "remaining" = counters."remaining" + excluded."remaining";
-- [1, 1970-01-01, 0]

SELECT "slot", "remaining"
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2
ORDER BY "slot"
FOR UPDATE;
-- [1, 1970-01-01]

SELECT "slot", "remaining"
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2
ORDER BY "slot"
FOR UPDATE;
-- [1, 1970-01-01]

UPDATE "tickets" SET
    "remaining" = CASE
        WHEN "slot" < $1
        AND "slot" >= $2 THEN $3
        WHEN "slot" < $4
        AND "slot" >= $5 THEN $6
        ELSE 0
    END
WHERE "event_id" = $7 AND "day" = $8 AND "slot" IN ($9, $10);
-- [1, 1, 0, 2, 1, 0, 1, 1970-01-01, 2, 3]

COMMIT;

