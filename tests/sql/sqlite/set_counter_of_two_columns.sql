-- set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn)

BEGIN;

INSERT INTO `reaction_counters` AS diesel_counters_stored (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE
SET `given` = CASE typeof(diesel_counters_stored.`given` + excluded.`given`) WHEN 'integer' THEN diesel_counters_stored.`given` + excluded.`given` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "👍", 1970-01-01, 0]

SELECT `given`
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ? AND `day` BETWEEN ? AND ?;
-- [1, "👍", 2026-03-02, 2026-03-02]

INSERT INTO `reaction_counters` AS diesel_counters_stored (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE
SET `given` = CASE typeof(diesel_counters_stored.`given` + excluded.`given`) WHEN 'integer' THEN diesel_counters_stored.`given` + excluded.`given` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "👍", 2026-03-02, 0]

SELECT `diesel_counters_number`, `given`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `reaction_counters` ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT 0);
-- [1, "👍", 2026-03-02]

INSERT INTO `reaction_counters` AS diesel_counters_stored (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE
SET `given` = CASE typeof(diesel_counters_stored.`given` + excluded.`given`) WHEN 'integer' THEN diesel_counters_stored.`given` + excluded.`given` ELSE abs(-9223372036854775807 - 1) END;
-- [1, "👍", 2026-03-02, -1]

SELECT `diesel_counters_number`, `given`
FROM (SELECT column1 AS diesel_counters_key, column2 AS diesel_counters_key_1, column3 AS diesel_counters_key_2, CAST(column4 AS BIGINT) AS diesel_counters_number
FROM (VALUES (?, ?, ?, 1)) AS diesel_counters_listed) AS diesel_counters_wanted
JOIN `reaction_counters` ON `article_id` = diesel_counters_key AND `emoji` = diesel_counters_key_1 AND `day` = diesel_counters_key_2 AND `slot` = (SELECT 0);
-- [1, "👍", 2026-03-02]

COMMIT;

