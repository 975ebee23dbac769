-- compact(site_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE (), ?), 224), 0);
-- ["site_counters"]

SELECT COUNT(*)
FROM `site_counters`
WHERE `day` < ? AND `slot` <> 0;
-- [2026-04-01]

SELECT `day`, `slot`
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE `day` < ? AND `slot` <> 0
ORDER BY `day`, `slot`
LIMIT 100;
-- [2026-04-01]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`, `errors`)
VALUES (?, ?, 0, 0)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [2026-03-02, 0]

SELECT `day`, `slot`, `site_counters`.*
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE (`day`, `slot`) IN ((?, ?), (?, ?), (?, ?))
FOR UPDATE SKIP LOCKED;
-- [2026-03-02, 0, 2026-03-02, 3, 2026-03-02, 5]

INSERT INTO `site_counters` (`day`, `slot`, `hits`, `errors`)
SELECT `day`, 0, COALESCE(SUM(`hits`), 0) DIV 1, COALESCE(SUM(`errors`), 0) DIV 1
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE (`day`, `slot`) IN ((?, ?), (?, ?))
GROUP BY `day`
ORDER BY `day`
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`), `errors` = `errors` + VALUES(`errors`);
-- [2026-03-02, 3, 2026-03-02, 5]

DELETE counters
FROM (
    (SELECT `day` AS entity, `slot` AS entity_1 FROM `site_counters` LIMIT 0)
    UNION ALL
    SELECT ?, ?
    UNION ALL
    SELECT ?, ?
) AS wanted STRAIGHT_JOIN `site_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`day` = wanted.entity
    AND counters.`slot` = wanted.entity_1;
-- [2026-03-02, 3, 2026-03-02, 5]

COMMIT;

SELECT `day`, `slot`
FROM `site_counters` FORCE INDEX (PRIMARY)
WHERE `day` < ? AND `slot` <> 0 AND (`day` > ? OR `day` = ? AND (`slot` > ?))
ORDER BY `day`, `slot`
LIMIT 100;
-- [2026-04-01, 2026-03-02, 2026-03-02, 5]

SELECT COUNT(*)
FROM `site_counters`
WHERE `day` < ? AND `slot` <> 0;
-- [2026-04-01]

SELECT RELEASE_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE (), ?), 224));
-- ["site_counters"]

