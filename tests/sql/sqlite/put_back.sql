-- put_back(tickets::remaining).of(1_i64).by(2).execute(conn)

INSERT INTO `tickets` AS counters (`event_id`, `day`, `slot`, `remaining`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`event_id`, `day`, `slot`) DO UPDATE SET
    `remaining` = CASE
        typeof(counters.`remaining` + excluded.`remaining`)
        WHEN 'integer' THEN counters.`remaining` + excluded.`remaining`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 1970-01-01, 2]

