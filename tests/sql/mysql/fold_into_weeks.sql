-- fold(article_counters::table).per(Period::Week).before(day(2026, 4, 1)).execute(conn)

SELECT GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE (), ?), 224), 0);
-- ["article_counters"]

SELECT COUNT(*)
FROM `article_counters`
WHERE
    `day` >= ?
    AND `day` < ?
    AND (
        `slot` <> 0
        OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
    );
-- [1970-01-05, 2026-03-30]

SELECT `article_id`, `day`, `slot`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE
    `day` >= ?
    AND `day` < ?
    AND (
        `slot` <> 0
        OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
    )
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [1970-01-05, 2026-03-30]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
VALUES (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0), (?, ?, ?, 0, 0, 0)
ON DUPLICATE KEY UPDATE `slot` = VALUES(`slot`);
-- [1, 2026-03-02, 0, 2, 2026-03-02, 0, 3, 2026-03-02, 0]

SELECT `article_id`, `day`, `slot`, `article_counters`.*
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE
    (`article_id`, `day`, `slot`) IN ((?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?))
FOR UPDATE SKIP LOCKED;
-- [1, 2026-03-02, 0, 2, 2026-03-02, 0, 3, 2026-03-02, 0, 1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`, `comments`)
SELECT
    `article_id`,
    GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY)),
    0,
    COALESCE(SUM(`views`), 0) DIV 1,
    COALESCE(SUM(`likes`), 0) DIV 1,
    COALESCE(SUM(`comments`), 0) DIV 1
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE (`article_id`, `day`, `slot`) IN ((?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?))
GROUP BY
    `article_id`,
    GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
ORDER BY
    `article_id`,
    GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`), `likes` = `likes` + VALUES(`likes`), `comments` = `comments` + VALUES(`comments`);
-- [1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

DELETE counters
FROM (
    (
        SELECT `article_id` AS entity, `day` AS entity_1, `slot` AS entity_2
        FROM `article_counters`
        LIMIT 0
    )
    UNION ALL
    SELECT ?, ?, ?
    UNION ALL
    SELECT ?, ?, ?
    UNION ALL
    SELECT ?, ?, ?
    UNION ALL
    SELECT ?, ?, ?
) AS wanted STRAIGHT_JOIN `article_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`article_id` = wanted.entity
    AND counters.`day` = wanted.entity_1
    AND counters.`slot` = wanted.entity_2;
-- [1, 2026-03-02, 3, 1, 2026-03-02, 5, 2, 2026-03-08, 3, 3, 2026-03-02, 3]

COMMIT;

SELECT `article_id`, `day`, `slot`
FROM `article_counters` FORCE INDEX (PRIMARY)
WHERE
    `day` >= ?
    AND `day` < ?
    AND (
        `slot` <> 0
        OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
    )
    AND (`article_id` > ? OR `article_id` = ? AND (`day` > ? OR `day` = ? AND (`slot` > ?)))
ORDER BY `article_id`, `day`, `slot`
LIMIT 100;
-- [1970-01-05, 2026-03-30, 3, 3, 2026-03-02, 2026-03-02, 3]

SELECT COUNT(*)
FROM `article_counters`
WHERE
    `day` >= ?
    AND `day` < ?
    AND (
        `slot` <> 0
        OR `day` <> GREATEST((`day` - INTERVAL WEEKDAY(`day`) DAY), (`day` - INTERVAL DAYOFMONTH(`day`) - 1 DAY))
    );
-- [1970-01-05, 2026-03-30]

SELECT RELEASE_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE (), ?), 224));
-- ["article_counters"]

