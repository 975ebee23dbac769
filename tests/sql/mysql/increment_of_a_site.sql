-- increment(site_counters::hits).on(monday()).execute(conn)

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 1, 32, 1, 1]

