-- increment(odd_name::views_).of(1).on(monday()).execute(conn)

INSERT INTO `odd ``"name` (`the "entity```, `select`, `slot's`, `views; --`)
VALUES (?, ?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `views; --` = `views; --` + VALUES(`views; --`);
-- [1, 2026-03-02, 1, 4, 1, 1]

