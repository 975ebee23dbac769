-- take(tickets::remaining).of(1_i64).by(2).execute(conn)

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ UPDATE /*+ SET_VAR(sql_safe_updates = 0) */ /*vt+ PRIORITY=none */ (SELECT `slot` AS diesel_counters_slot
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE `event_id` = ? AND `day` = ? AND `remaining` >= ? AND `slot` >= (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?)
ORDER BY `slot`
LIMIT 1 FOR UPDATE SKIP LOCKED) AS diesel_counters_free
STRAIGHT_JOIN `tickets` ON `slot` = diesel_counters_slot
SET `remaining` = `remaining` - ?
WHERE `event_id` = ? AND `day` = ? AND `remaining` >= ?;
-- [1, 1970-01-01, 2, 1, 32, 1, 2, 1, 1970-01-01, 2]

SELECT COALESCE(SUM(`remaining`), 0) DIV 1
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?;
-- [1, 1970-01-01]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ UPDATE /*+ SET_VAR(sql_safe_updates = 0) */ /*vt+ PRIORITY=none */ (SELECT `slot` AS diesel_counters_slot
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE `event_id` = ? AND `day` = ? AND `remaining` >= ? AND `slot` < (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?)
ORDER BY `slot`
LIMIT 1 FOR UPDATE SKIP LOCKED) AS diesel_counters_free
STRAIGHT_JOIN `tickets` ON `slot` = diesel_counters_slot
SET `remaining` = `remaining` - ?
WHERE `event_id` = ? AND `day` = ? AND `remaining` >= ?;
-- [1, 1970-01-01, 2, 1, 32, 1, 2, 1, 1970-01-01, 2]

SELECT COALESCE(SUM(`remaining`), 0) DIV 1
FROM `tickets`
WHERE `event_id` = ? AND `day` = ?;
-- [1, 1970-01-01]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `tickets` (`event_id`, `day`, `slot`, `remaining`)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `remaining` = `remaining` + VALUES(`remaining`);
-- [1, 1970-01-01, 0, 0]

SELECT `slot`, `remaining`
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE `event_id` = ? AND `day` = ?
ORDER BY `slot` FOR UPDATE;
-- [1, 1970-01-01]

SELECT `slot`, `remaining`
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE `event_id` = ? AND `day` = ?
ORDER BY `slot` FOR UPDATE;
-- [1, 1970-01-01]

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ UPDATE /*+ SET_VAR(sql_safe_updates = 0) */ `tickets` FORCE INDEX (PRIMARY)
SET `remaining` = CASE WHEN `slot` < ? AND `slot` >= ? THEN ? WHEN `slot` < ? AND `slot` >= ? THEN ? ELSE 0 END
WHERE `event_id` = ? AND `day` = ? AND `slot` IN (?, ?);
-- [1, 1, 0, 2, 1, 0, 1, 1970-01-01, 2, 3]

SELECT `slot`, `remaining`
FROM `tickets` FORCE INDEX (PRIMARY)
WHERE `event_id` = ? AND `day` = ?
ORDER BY `slot` FOR UPDATE;
-- [1, 1970-01-01]

COMMIT;

