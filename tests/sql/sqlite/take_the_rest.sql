-- take(tickets::remaining).of(1_i64).by(3).execute(conn)

UPDATE `tickets` SET
    `remaining` = `remaining` - ?
WHERE
    `event_id` = ?
    AND `day` = ?
    AND `slot` = (
        SELECT `slot`
        FROM `tickets`
        WHERE `event_id` = ?
            AND `day` = ? AND `remaining` >= ? AND `slot` >= (SELECT 0)
        ORDER BY `slot`
        LIMIT 1
    )
    AND `remaining` >= ?;
-- [3, 1, 1970-01-01, 1, 1970-01-01, 3, 3]

