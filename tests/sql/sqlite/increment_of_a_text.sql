-- increment(page_counters::hits).of("/").on(monday()).execute(conn)

INSERT INTO `page_counters` AS counters (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`path`, `day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- ["/", 2026-03-02, 1]

