-- take(tickets::remaining).of(1_i64).by(4).execute(conn)

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
-- [4, 1, 1970-01-01, 1, 1970-01-01, 4, 4]

SELECT CASE
    typeof(COALESCE(SUM(`remaining`), 0))
    WHEN 'integer' THEN COALESCE(SUM(`remaining`), 0)
    ELSE abs(-9223372036854775807 - 1)
END
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?;
-- [1, 1970-01-01]

