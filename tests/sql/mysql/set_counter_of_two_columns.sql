-- set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 1970-01-01, 0, 0]

SELECT `given`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE `article_id` = ? AND `emoji` = ? AND `day` BETWEEN ? AND ?;
-- [1, "👍", 2026-03-02, 2026-03-02]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 2026-03-02, 1, 32, 1, 0]

SELECT `diesel_counters_number`, `given`
FROM ((SELECT `article_id` AS diesel_counters_key, `emoji` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, "👍", 2026-03-02, 1, 32, 1]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 2026-03-02, 1, 32, 1, -1]

SELECT `diesel_counters_number`, `given`
FROM ((SELECT `article_id` AS diesel_counters_key, `emoji` AS diesel_counters_key_1, `day` AS diesel_counters_key_2, 0 AS diesel_counters_number
FROM `reaction_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `reaction_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, "👍", 2026-03-02, 1, 32, 1]

COMMIT;

