-- set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO `page_counters` AS diesel_counters_stored (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`path`, `day`, `slot`) DO UPDATE
SET `hits` = CASE typeof(diesel_counters_stored.`hits` + excluded.`hits`) WHEN 'integer' THEN diesel_counters_stored.`hits` + excluded.`hits` ELSE abs(-9223372036854775807 - 1) END;
-- ["/", 1970-01-01, 0]

SELECT quote(`path`)
FROM `page_counters`
WHERE `path` IN (?) AND `day` = ? AND `slot` = ?;
-- ["/", 1970-01-01, 0]

SELECT `diesel_counters_number`, CASE typeof(COALESCE(SUM(`hits`), 0)) WHEN 'integer' THEN COALESCE(SUM(`hits`), 0) ELSE abs(-9223372036854775807 - 1) END
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `page_counters` ON `path` = diesel_counters_key AND `day` = diesel_counters_key_1
GROUP BY `diesel_counters_number`;
-- ["/", 2026-03-02]

INSERT INTO `page_counters` AS diesel_counters_stored (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`path`, `day`, `slot`) DO UPDATE
SET `hits` = CASE typeof(diesel_counters_stored.`hits` + excluded.`hits`) WHEN 'integer' THEN diesel_counters_stored.`hits` + excluded.`hits` ELSE abs(-9223372036854775807 - 1) END;
-- ["/", 2026-03-02, 0]

SELECT `diesel_counters_number`, `hits`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `page_counters` ON `path` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- ["/", 2026-03-02]

INSERT INTO `page_counters` AS diesel_counters_stored (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`path`, `day`, `slot`) DO UPDATE
SET `hits` = CASE typeof(diesel_counters_stored.`hits` + excluded.`hits`) WHEN 'integer' THEN diesel_counters_stored.`hits` + excluded.`hits` ELSE abs(-9223372036854775807 - 1) END;
-- ["/", 2026-03-02, 2]

SELECT `diesel_counters_number`, `hits`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, CAST(column3 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `page_counters` ON `path` = diesel_counters_key AND `day` = diesel_counters_key_1 AND `slot` = (SELECT 0);
-- ["/", 2026-03-02]

COMMIT;

