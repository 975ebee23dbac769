-- set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0]

SELECT wanted.ordinality, COALESCE(SUM(`views`), 0) DIV 1
FROM (
    (
        SELECT `article_id` AS entity, `day` AS entity_1, 0 AS ordinality
        FROM `article_counters`
        LIMIT 0
    )
    UNION ALL
    SELECT ?, ?, 1
    UNION ALL
    SELECT ?, ?, 2
) AS wanted STRAIGHT_JOIN `article_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`article_id` = wanted.entity
    AND counters.`day` = wanted.entity_1
GROUP BY wanted.ordinality;
-- [1, 2026-03-02, 2, 2026-03-08]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 1, 2, 2026-03-08, -1]

COMMIT;

