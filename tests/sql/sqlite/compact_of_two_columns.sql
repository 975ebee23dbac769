-- compact(reaction_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT 1;

SELECT COUNT(*)
FROM `reaction_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`);
-- [2026-04-01]

SELECT `article_id`, `emoji`, `day`, `slot`
FROM `reaction_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`)
ORDER BY `article_id`, `emoji`, `day`, `slot`
LIMIT 100;
-- [2026-04-01]

BEGIN;

INSERT INTO `reaction_counters` AS counters (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ?, 0)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO NOTHING;
-- [1, "👍", 2026-03-02, 0]

SELECT `article_id`, `emoji`, `day`, `slot`, *
FROM `reaction_counters`
WHERE (`article_id`, `emoji`, `day`, `slot`) IN (VALUES (?, ?, ?, ?), (?, ?, ?, ?), (?, ?, ?, ?));
-- [1, "👍", 2026-03-02, 0, 1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

INSERT INTO `reaction_counters` AS counters (`article_id`, `emoji`, `day`, `slot`, `given`)
SELECT `article_id`, `emoji`, `day`, 0, COALESCE(SUM(`given`), 0)
FROM `reaction_counters`
WHERE (`article_id`, `emoji`, `day`, `slot`) IN (VALUES (?, ?, ?, ?), (?, ?, ?, ?))
GROUP BY `article_id`, `emoji`, `day`
ORDER BY `article_id`, `emoji`, `day`
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE SET
    `given` = CASE
        typeof(counters.`given` + excluded.`given`)
        WHEN 'integer' THEN counters.`given` + excluded.`given`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

DELETE FROM `reaction_counters`
WHERE (`article_id`, `emoji`, `day`, `slot`) IN (VALUES (?, ?, ?, ?), (?, ?, ?, ?));
-- [1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

COMMIT;

SELECT `article_id`, `emoji`, `day`, `slot`
FROM `reaction_counters`
WHERE
    `day` < ?
    AND `slot` <> 0
    AND `day` IS date(`day`)
    AND (`article_id`, `emoji`, `day`, `slot`) > (?, ?, ?, ?)
ORDER BY `article_id`, `emoji`, `day`, `slot`
LIMIT 100;
-- [2026-04-01, 1, "👍", 2026-03-02, 5]

SELECT COUNT(*)
FROM `reaction_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`);
-- [2026-04-01]

SELECT COUNT(*)
FROM `reaction_counters`
WHERE NOT (`day` IS date(`day`));

SELECT 1;

