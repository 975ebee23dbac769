-- set_counter(tickets::remaining).of(1_i64).to(3).execute(conn)

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
WHERE "event_id" = $7 AND "day" = $8 AND "slot" IN ($9);
-- [1, 1, 1, 4, 1, 1, 1, 1970-01-01, 3]

INSERT INTO "tickets" AS counters ("event_id", "day", "slot", "remaining")
VALUES ($1, $2, $3, $4), ($5, $6, $7, $8)
ON CONFLICT ("event_id", "day", "slot") DO UPDATE SET
    "remaining" = counters."remaining" + excluded."remaining";
-- [1, 1970-01-01, 1, 1, 1, 1970-01-01, 2, 1]

COMMIT;

