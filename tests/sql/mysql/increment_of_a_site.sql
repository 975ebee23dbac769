-- increment(site_counters::hits).on(monday()).execute(conn)

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 1]

