-- increment(page_counters::hits).of("/").on(monday()).execute(conn)

INSERT INTO `page_counters` (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- ["/", 2026-03-02, 1]

