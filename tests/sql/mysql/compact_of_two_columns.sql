-- compact(reaction_counters::table).before(day(2026, 4, 1)).execute(conn)

SELECT GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE (), ?), 224), 0);
-- ["reaction_counters"]

SELECT COUNT(*)
FROM `reaction_counters`
WHERE `day` < ? AND `slot` <> 0;
-- [2026-04-01]

SELECT `article_id`, `emoji`, `day`, `slot`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE `day` < ? AND `slot` <> 0
ORDER BY `article_id`, `emoji`, `day`, `slot`
LIMIT 100;
-- [2026-04-01]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ?, 0)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, "👍", 2026-03-02, 0]

SELECT `article_id`, `emoji`, `day`, `slot`, `reaction_counters`.*
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE (`article_id`, `emoji`, `day`, `slot`) IN ((?, ?, ?, ?), (?, ?, ?, ?), (?, ?, ?, ?))
FOR UPDATE SKIP LOCKED;
-- [1, "👍", 2026-03-02, 0, 1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
SELECT `article_id`, `emoji`, `day`, 0, COALESCE(SUM(`given`), 0) DIV 1
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE (`article_id`, `emoji`, `day`, `slot`) IN ((?, ?, ?, ?), (?, ?, ?, ?))
GROUP BY `article_id`, `emoji`, `day`
ORDER BY `article_id`, `emoji`, `day`
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

DELETE counters
FROM (
    (
        SELECT `article_id` AS entity, `emoji` AS entity_1, `day` AS entity_2, `slot` AS entity_3
        FROM `reaction_counters`
        LIMIT 0
    )
    UNION ALL
    SELECT ?, ?, ?, ?
    UNION ALL
    SELECT ?, ?, ?, ?
) AS wanted STRAIGHT_JOIN `reaction_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`article_id` = wanted.entity
    AND counters.`emoji` = wanted.entity_1
    AND counters.`day` = wanted.entity_2
    AND counters.`slot` = wanted.entity_3;
-- [1, "👍", 2026-03-02, 3, 1, "👍", 2026-03-02, 5]

COMMIT;

SELECT `article_id`, `emoji`, `day`, `slot`
FROM `reaction_counters` FORCE INDEX (PRIMARY)
WHERE
    `day` < ?
    AND `slot` <> 0
    AND (
        `article_id` > ?
        OR `article_id` = ?
        AND (`emoji` > ? OR `emoji` = ? AND (`day` > ? OR `day` = ? AND (`slot` > ?)))
    )
ORDER BY `article_id`, `emoji`, `day`, `slot`
LIMIT 100;
-- [2026-04-01, 1, 1, "👍", "👍", 2026-03-02, 2026-03-02, 5]

SELECT COUNT(*)
FROM `reaction_counters`
WHERE `day` < ? AND `slot` <> 0;
-- [2026-04-01]

SELECT RELEASE_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE (), ?), 224));
-- ["reaction_counters"]

