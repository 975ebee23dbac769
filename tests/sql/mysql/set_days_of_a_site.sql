-- set_counter(site_counters::hits).of_days([((), monday(), 3)]).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1970-01-01, 0]

SELECT wanted.ordinality, COALESCE(SUM(`hits`), 0) DIV 1
FROM (
    (SELECT `day` AS entity, 0 AS ordinality FROM `site_counters` LIMIT 0)
    UNION ALL
    SELECT ?, 1
) AS wanted STRAIGHT_JOIN `site_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`day` = wanted.entity
GROUP BY wanted.ordinality;
-- [2026-03-02]

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 1]

COMMIT;

