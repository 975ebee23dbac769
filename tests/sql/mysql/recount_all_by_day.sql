-- recount(article_counters::comments, comments_by_day!()).between(monday()..=sunday()).execute(conn).map(drop::<Vec<Drift<i64>>>)

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT `comments`.`article_id`, date('2026-03-02'), COUNT(*)
FROM `comments`
GROUP BY `comments`.`article_id`)
SELECT `diesel_counters_entity`, `diesel_counters_day`, COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
FROM (SELECT `article_id` AS `diesel_counters_entity`, `day` AS `diesel_counters_day`, SUM(`comments`) AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `article_counters`
WHERE `day` BETWEEN ? AND ?
GROUP BY `article_id`, `day` UNION ALL
SELECT CAST(`diesel_counters_entity` AS SIGNED), CAST(`diesel_counters_day` AS DATE), 0, SUM(`diesel_counters_actual_0`)
FROM `diesel_counters_source`
WHERE `diesel_counters_day` BETWEEN ? AND ?
GROUP BY `diesel_counters_entity`, `diesel_counters_day`) AS diesel_counters_both
GROUP BY `diesel_counters_entity`, `diesel_counters_day`
HAVING COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
ORDER BY `diesel_counters_entity`, `diesel_counters_day`;
-- [2026-03-02, 2026-03-08, 2026-03-02, 2026-03-08]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 1970-01-01, 0, 0]

WITH `diesel_counters_source` (`diesel_counters_entity`, `diesel_counters_day`, `diesel_counters_actual_0`) AS (SELECT `comments`.`article_id`, date('2026-03-02'), COUNT(*)
FROM `comments`
GROUP BY `comments`.`article_id`)
SELECT `diesel_counters_entity`, `diesel_counters_day`, COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1, COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
FROM (SELECT `article_id` AS `diesel_counters_entity`, `day` AS `diesel_counters_day`, SUM(`comments`) AS `diesel_counters_stored_0`, 0 AS `diesel_counters_actual_0`
FROM `article_counters`
WHERE `article_id` IN (?) AND `day` BETWEEN ? AND ?
GROUP BY `article_id`, `day` UNION ALL
SELECT CAST(`diesel_counters_entity` AS SIGNED), CAST(`diesel_counters_day` AS DATE), 0, SUM(`diesel_counters_actual_0`)
FROM `diesel_counters_source`
WHERE `diesel_counters_entity` IN (?) AND `diesel_counters_day` BETWEEN ? AND ?
GROUP BY `diesel_counters_entity`, `diesel_counters_day`) AS diesel_counters_both
GROUP BY `diesel_counters_entity`, `diesel_counters_day`
HAVING COALESCE(SUM(`diesel_counters_stored_0`), 0) DIV 1 <> COALESCE(SUM(`diesel_counters_actual_0`), 0) DIV 1
ORDER BY `diesel_counters_entity`, `diesel_counters_day`;
-- [1, 2026-03-02, 2026-03-08, 1, 2026-03-02, 2026-03-08]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 2026-03-02, 1, 32, 1, 0]

SELECT `diesel_counters_number`, `comments`
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, 2026-03-02, 1, 32, 1]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `comments`)
VALUES (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `comments` = `comments` + VALUES(`comments`);
-- [1, 2026-03-02, 1, 32, 1, 2]

SELECT `diesel_counters_number`, `comments`
FROM ((SELECT `article_id` AS diesel_counters_key, `day` AS diesel_counters_key_1, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, ?, 1) AS diesel_counters_wanted
STRAIGHT_JOIN `article_counters` FORCE INDEX (PRIMARY) ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?) FOR UPDATE;
-- [1, 2026-03-02, 1, 32, 1]

COMMIT;

