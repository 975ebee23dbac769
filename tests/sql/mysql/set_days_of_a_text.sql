-- set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `page_counters` (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- ["/", 1970-01-01, 0]

SELECT HEX(`path`)
FROM `page_counters`
WHERE `path` IN (?) AND `day` = ? AND `slot` = 0;
-- ["/", 1970-01-01]

SELECT wanted.ordinality, COALESCE(SUM(`hits`), 0) DIV 1
FROM (
    (SELECT `path` AS entity, `day` AS entity_1, 0 AS ordinality FROM `page_counters` LIMIT 0)
    UNION ALL
    SELECT ?, ?, 1
) AS wanted STRAIGHT_JOIN `page_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`path` = wanted.entity
    AND counters.`day` = wanted.entity_1
GROUP BY wanted.ordinality;
-- ["/", 2026-03-02]

INSERT INTO `page_counters` (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- ["/", 2026-03-02, 3]

COMMIT;

