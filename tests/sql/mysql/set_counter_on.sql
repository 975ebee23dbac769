-- set_counter(views).of(1_i64).on(monday()).to(7).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 1970-01-01, 0, 0]

SELECT `views`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` = ? AND `day` BETWEEN ? AND ?;
-- [1, 2026-03-02, 2026-03-02]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 1, 32, 1, 0]

SELECT `diesel_counters_number`, `views`
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, 2026-03-02, 1, 32, 1]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 1, 32, 1, -1]

SELECT `diesel_counters_number`, `views`
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, 2026-03-02, 1, 32, 1]

COMMIT;

