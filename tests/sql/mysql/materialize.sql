-- Article::materialize(views, articles::total_views).execute(conn)

SELECT /*vt+ PRIORITY=none */ 0;

SELECT `id`
FROM `articles`
ORDER BY `id`
LIMIT 1 OFFSET 49999;

SELECT diesel_counters_key, diesel_counters_held, diesel_counters_total
FROM (SELECT `id` AS diesel_counters_key, `total_views` AS diesel_counters_held, COALESCE(diesel_counters_totals.diesel_counters_total, 0) AS diesel_counters_total
FROM `articles` LEFT
JOIN (SELECT `article_id` AS diesel_counters_key, COALESCE(SUM(`views`), 0) DIV 1 AS diesel_counters_total
FROM `article_counters`
GROUP BY `article_id`) AS diesel_counters_totals ON diesel_counters_totals.diesel_counters_key = `id`) AS diesel_counters_parent
WHERE diesel_counters_held <> diesel_counters_total OR diesel_counters_held IS NULL
ORDER BY diesel_counters_key;

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

/*M!
SET STATEMENT sql_safe_updates = 0 FOR */ UPDATE /*+ SET_VAR(sql_safe_updates = 0) */ ((SELECT `id` AS diesel_counters_key, `total_views` AS diesel_counters_held, `total_views` AS diesel_counters_total
FROM `articles`
LIMIT 0) UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ? UNION ALL
SELECT ?, ?, ?) AS diesel_counters_wanted
STRAIGHT_JOIN `articles` ON `id` = diesel_counters_key AND (`total_views` = diesel_counters_held OR diesel_counters_held IS NULL AND `total_views` IS NULL)
SET `total_views` = diesel_counters_total;
-- [1, Some(0), 2, 2, Some(0), 9, 3, Some(0), 2]

