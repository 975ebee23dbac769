-- counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn)

SELECT /*vt+ PRIORITY=none */ `diesel_counters_number`, (SELECT COALESCE(SUM(`views`), 0) DIV 1
FROM `article_counters`
WHERE `article_id` = diesel_counters_key AND `day` BETWEEN ? AND ?)
FROM ((SELECT `article_id` AS diesel_counters_key, 0 AS diesel_counters_number
FROM `article_counters`
LIMIT 0) UNION ALL
SELECT ?, 1 UNION ALL
SELECT ?, 2) AS diesel_counters_wanted
WHERE `diesel_counters_number` <= ?;
-- [2026-03-02, 2026-03-08, 2, 1, 2]

