-- set_counter(tickets::remaining).of(1_i64).to(3).execute(conn)

BEGIN;

INSERT INTO `tickets` AS counters (`event_id`, `day`, `slot`, `remaining`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`event_id`, `day`, `slot`) DO UPDATE SET
    `remaining` = CASE
        typeof(counters.`remaining` + excluded.`remaining`)
        WHEN 'integer' THEN counters.`remaining` + excluded.`remaining`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 1970-01-01, 0]

SELECT `slot`, `remaining`
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?
ORDER BY `slot`;
-- [1, 1970-01-01]

SELECT `slot`, `remaining`
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?
ORDER BY `slot`;
-- [1, 1970-01-01]

UPDATE `tickets` SET
    `remaining` = CASE
        WHEN `slot` < ?
        AND `slot` >= ? THEN ?
        WHEN `slot` < ?
        AND `slot` >= ? THEN ?
        ELSE 0
    END
WHERE `event_id` = ? AND `day` = ? AND `slot` IN (?, ?);
-- [0, 0, 3, 1, 0, 3, 1, 1970-01-01, 0, 3]

COMMIT;

