-- with_default_slot(NODE, || compact(article_counters::table).before(day(2026, 4, 1)).execute(conn))

SELECT 1;

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` >= ? AND `day` < ? AND (`slot` > 0) AND `day` IS date(`day`);
-- [1000-01-01, 2026-04-01]

SELECT COUNT(*)
FROM `article_counters`
WHERE NOT (`day` IS date(`day`));

SELECT 1;

