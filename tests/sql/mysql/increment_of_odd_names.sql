-- increment(odd_name::views_).of(1).on(monday()).execute(conn)

INSERT INTO `odd ``"name` (`the "entity```, `select`, `slot's`, `views; --`)
VALUES (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `views; --` = `views; --` + VALUES(`views; --`);
-- [1, 2026-03-02, 1, 4, 1, 1]

