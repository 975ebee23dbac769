-- set_counter(tickets::remaining).of(1_i64).to(3).execute(conn)

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
WHERE `event_id` = ? AND `day` = ? AND `slot` IN (?);
-- [1, 1, 1, 4, 1, 1, 1, 1970-01-01, 3]

INSERT INTO `tickets` (`event_id`, `day`, `slot`, `remaining`)
VALUES (?, ?, ?, ?), (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `remaining` = `remaining` + VALUES(`remaining`);
-- [1, 1970-01-01, 1, 1, 1, 1970-01-01, 2, 1]

COMMIT;

