-- increment(odd_name::views_).of(1).on(monday()).execute(conn)

INSERT INTO `odd ``"name` AS counters (`the "entity```, `select`, `slot's`, `views; --`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`the "entity```, `select`, `slot's`) DO UPDATE SET
    `views; --` = CASE
        typeof(counters.`views; --` + excluded.`views; --`)
        WHEN 'integer' THEN counters.`views; --` + excluded.`views; --`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-02, 1]

