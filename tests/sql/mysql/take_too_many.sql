-- take(tickets::remaining).of(1_i64).by(4).execute(conn)

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
-- [1, 1970-01-01, 4]

SELECT COALESCE(SUM(`remaining`), 0) DIV 1
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?;
-- [1, 1970-01-01]

