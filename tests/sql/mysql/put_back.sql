-- put_back(tickets::remaining).of(1_i64).by(2).execute(conn)

INSERT INTO `tickets` (`event_id`, `day`, `slot`, `remaining`)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `remaining` = `remaining` + VALUES(`remaining`);
-- [1, 1970-01-01, 2]

