-- increment(site_counters::hits).on(monday()).execute(conn)

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 1, 32, 1, 1]

