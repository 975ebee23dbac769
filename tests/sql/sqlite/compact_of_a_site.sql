-- compact(site_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT 1;

SELECT COUNT(*)
FROM `site_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`);
-- [2026-04-01]

SELECT `day`, `slot`
FROM `site_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`)
ORDER BY `day`, `slot`
LIMIT 100;
-- [2026-04-01]

BEGIN;

INSERT INTO `site_counters` AS counters (`day`, `slot`, `hits`, `errors`)
VALUES (?, ?, 0, 0)
ON CONFLICT (`day`, `slot`) DO NOTHING;
-- [2026-03-02, 0]

SELECT `day`, `slot`, *
FROM `site_counters`
WHERE (`day`, `slot`) IN (VALUES (?, ?), (?, ?), (?, ?));
-- [2026-03-02, 0, 2026-03-02, 3, 2026-03-02, 5]

INSERT INTO `site_counters` AS counters (`day`, `slot`, `hits`, `errors`)
SELECT `day`, 0, COALESCE(SUM(`hits`), 0), COALESCE(SUM(`errors`), 0)
FROM `site_counters`
WHERE (`day`, `slot`) IN (VALUES (?, ?), (?, ?))
GROUP BY `day`
ORDER BY `day`
ON CONFLICT (`day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END,
    `errors` = CASE
        typeof(counters.`errors` + excluded.`errors`)
        WHEN 'integer' THEN counters.`errors` + excluded.`errors`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [2026-03-02, 3, 2026-03-02, 5]

DELETE FROM `site_counters`
WHERE (`day`, `slot`) IN (VALUES (?, ?), (?, ?));
-- [2026-03-02, 3, 2026-03-02, 5]

COMMIT;

SELECT `day`, `slot`
FROM `site_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`) AND (`day`, `slot`) > (?, ?)
ORDER BY `day`, `slot`
LIMIT 100;
-- [2026-04-01, 2026-03-02, 5]

SELECT COUNT(*)
FROM `site_counters`
WHERE `day` < ? AND `slot` <> 0 AND `day` IS date(`day`);
-- [2026-04-01]

SELECT COUNT(*)
FROM `site_counters`
WHERE NOT (`day` IS date(`day`));

SELECT 1;

