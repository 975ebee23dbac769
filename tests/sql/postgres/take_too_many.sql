-- take(tickets::remaining).of(1_i64).by(4).execute(conn)

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
-- [4, 1, 1970-01-01, 1, 1970-01-01, 4, 4]

SELECT CAST(COALESCE(SUM("remaining"), 0) AS BIGINT)
FROM "tickets"
WHERE "event_id" = $1 AND "day" = $2;
-- [1, 1970-01-01]

