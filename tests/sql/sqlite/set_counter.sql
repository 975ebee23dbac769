-- set_counter(weekly_counters::views).of(1_i64).to(7).execute(conn)

BEGIN;

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `views` = CASE typeof(diesel_counters_stored.`views` + excluded.`views`) WHEN 'integer' THEN diesel_counters_stored.`views` + excluded.`views` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 1970-01-01, 0]

SELECT `views`
FROM `article_counters`
WHERE `article_id` = ?;
-- [1]

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `views` = CASE typeof(diesel_counters_stored.`views` + excluded.`views`) WHEN 'integer' THEN diesel_counters_stored.`views` + excluded.`views` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 2026-12-28, 0]

SELECT `diesel_counters_number`, `views`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- [1, 2026-12-28]

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `views` = CASE typeof(diesel_counters_stored.`views` + excluded.`views`) WHEN 'integer' THEN diesel_counters_stored.`views` + excluded.`views` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 2026-12-28, -3]

SELECT `diesel_counters_number`, `views`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- [1, 2026-12-28]

COMMIT;

