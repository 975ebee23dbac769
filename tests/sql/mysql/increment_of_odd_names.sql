-- increment(odd_name::views_).of(1).on(monday()).execute(conn)

INSERT INTO `odd ``"name` (`the "entity```, `select`, `slot's`, `views; --`)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 4, ?)
ON DUPLICATE KEY UPDATE `views; --` = `views; --` + VALUES(`views; --`);
-- [1, 2026-03-02, 1]

