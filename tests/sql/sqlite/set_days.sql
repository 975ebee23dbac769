-- set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn)

BEGIN;

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `views` = CASE typeof(diesel_counters_stored.`views` + excluded.`views`) WHEN 'integer' THEN diesel_counters_stored.`views` + excluded.`views` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0]

SELECT `diesel_counters_number`, CASE typeof(COALESCE(SUM(`views`), 0)) WHEN 'integer' THEN COALESCE(SUM(`views`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1), (?, ?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1
GROUP BY `diesel_counters_number`;
-- [1, 2026-03-02, 2, 2026-03-08]

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `views` = CASE typeof(diesel_counters_stored.`views` + excluded.`views`) WHEN 'integer' THEN diesel_counters_stored.`views` + excluded.`views` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 2026-03-02, 0, 2, 2026-03-08, 0]

SELECT `diesel_counters_number`, `views`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1), (?, ?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- [1, 2026-03-02, 2, 2026-03-08]

INSERT INTO `article_counters` AS diesel_counters_stored (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE
SET `views` = CASE typeof(diesel_counters_stored.`views` + excluded.`views`) WHEN 'integer' THEN diesel_counters_stored.`views` + excluded.`views` ELSE abs(-9223372036854775807 - 1) END;
-- [1, 2026-03-02, -4, 2, 2026-03-08, 4]

SELECT `diesel_counters_number`, `views`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1), (?, ?, 2)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `article_counters` ON `article_id` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- [1, 2026-03-02, 2, 2026-03-08]

COMMIT;

