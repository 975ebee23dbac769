-- set_counter(site_counters::hits).on(monday()).to(7).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1970-01-01, 0, 0]

SELECT `hits`
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE `day` BETWEEN ? AND ?;
-- [2026-03-02, 2026-03-02]

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 1, 32, 1, 0]

SELECT `diesel_counters_number`, `hits`
FROM ((SELECT `day` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_key AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [2026-03-02, 1, 32, 1]

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 1, 32, 1, 4]

SELECT `diesel_counters_number`, `hits`
FROM ((SELECT `day` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `site_counters`
LIMIT 0) UNION ALL
SELECT ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `site_counters` FORCE INDEX (PRIMARY) ON `day` = diesel_counters_key AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [2026-03-02, 1, 32, 1]

COMMIT;

