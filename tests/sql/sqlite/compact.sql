-- compact(article_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT 1;

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`);
-- [2026-04-01]

SELECT `article_id`, `day`, `slot`
FROM `article_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`)
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [2026-04-01]

BEGIN;

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
VALUES (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0)
ON CONFLICT (`article_id`, `day`, `slot`) DO NOTHING;
-- [1, 2026-03-02, 0, 2, 2026-03-08, 0, 3, 2026-03-02, 0]

SELECT `article_id`, `day`, `slot`, *
FROM `article_counters`
WHERE
    (`article_id`, `day`, `slot`) IN (VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?));
-- [1, 2026-03-02, 0, 2, 2026-03-08, 0, 3, 2026-03-02, 0, 1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
SELECT
    `article_id`,
    `day`,
    0,
    COALESCE(SUM(`views`), 0),
    COALESCE(SUM(`likes`), 0),
    COALESCE(SUM(`comments`), 0)
FROM `article_counters`
WHERE (`article_id`, `day`, `slot`) IN (VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?))
GROUP BY `article_id`, `day`
ORDER BY `article_id`, `day`
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END,
    `likes` = CASE
        typeof(counters.`likes` + excluded.`likes`)
        WHEN 'integer' THEN counters.`likes` + excluded.`likes`
        ELSE abs(-9223372036854775807 - 1)
    END,
    `comments` = CASE
        typeof(counters.`comments` + excluded.`comments`)
        WHEN 'integer' THEN counters.`comments` + excluded.`comments`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

DELETE FROM `article_counters`
WHERE (`article_id`, `day`, `slot`) IN (VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?));
-- [1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

COMMIT;

SELECT `article_id`, `day`, `slot`
FROM `article_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`) AND (`article_id`, `day`, `slot`) > (?, ?, ?)
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [2026-04-01, 3, 2026-03-02, 3]

SELECT COUNT(*)
FROM `article_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`);
-- [2026-04-01]

SELECT COUNT(*)
FROM `article_counters`
WHERE NOT (`day` IS date(`day`));

SELECT 1;

