-- set_counter(monthly_counters::views).of_days([(1_i64, monday(), 3)]).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 1970-01-01, 0]

SELECT wanted.ordinality, COALESCE(SUM(`views`), 0) DIV 1
FROM (
    (
        SELECT `article_id` AS entity, `day` AS entity_1, `day` AS entity_2, 0 AS ordinality
        FROM `article_counters`
        LIMIT 0
    )
    UNION ALL
    SELECT ?, ?, ?, 1
) AS wanted STRAIGHT_JOIN `article_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`article_id` = wanted.entity
    AND `day` BETWEEN wanted.entity_1 AND wanted.entity_2
GROUP BY wanted.ordinality;
-- [1, 2026-03-01, 2026-03-31]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-01, 1]

COMMIT;

