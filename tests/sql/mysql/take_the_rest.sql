-- take(tickets::remaining).of(1_i64).by(2).execute(conn)

SELECT `slot`
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE
    `event_id` = ?
    AND `day` = ?
    AND `remaining` >= ?
    AND `slot` >= (SELECT 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32)
ORDER BY `slot`
LIMIT 1
FOR UPDATE SKIP LOCKED;
-- [1, 1970-01-01, 2]

SELECT COALESCE(SUM(`remaining`), 0) DIV 1
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?;
-- [1, 1970-01-01]

SELECT `slot`
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE
    `event_id` = ?
    AND `day` = ?
    AND `remaining` >= ?
    AND `slot` < (SELECT 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32)
ORDER BY `slot`
LIMIT 1
FOR UPDATE SKIP LOCKED;
-- [1, 1970-01-01, 2]

SELECT COALESCE(SUM(`remaining`), 0) DIV 1
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?;
-- [1, 1970-01-01]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `tickets` (`event_id`, `day`, `slot`, `remaining`)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `remaining` = `remaining` + VALUES(`remaining`);
-- [1, 1970-01-01, 0]

SELECT `slot`, `remaining`
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE `event_id` = ? AND `day` = ?
ORDER BY `slot`
FOR UPDATE;
-- [1, 1970-01-01]

SELECT `slot`, `remaining`
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE `event_id` = ? AND `day` = ?
ORDER BY `slot`
FOR UPDATE;
-- [1, 1970-01-01]

UPDATE `tickets` FORCE INDEX (PRIMARY) SET
    `remaining` = CASE
        WHEN `slot` < ?
        AND `slot` >= ? THEN ?
        WHEN `slot` < ?
        AND `slot` >= ? THEN ?
        ELSE 0
    END
WHERE `event_id` = ? AND `day` = ? AND `slot` IN (?, ?);
-- [1, 1, 0, 2, 1, 0, 1, 1970-01-01, 2, 3]

COMMIT;

