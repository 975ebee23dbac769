-- set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?), (?, ?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 1970-01-01, 0, 2, "1.0", 1970-01-01, 0]

SELECT HEX(`crate_id`), HEX(`number`)
FROM `version_counters`
WHERE (`crate_id`, `number`) IN ((?, ?), (?, ?)) AND `day` = ? AND `slot` = 0;
-- [1, "1.0", 2, "1.0", 1970-01-01]

SELECT wanted.ordinality, COALESCE(SUM(`downloads`), 0) DIV 1
FROM (
    (
        SELECT `crate_id` AS entity, `number` AS entity_1, `day` AS entity_2, 0 AS ordinality
        FROM `version_counters`
        LIMIT 0
    )
    UNION ALL
    SELECT ?, ?, ?, 1
    UNION ALL
    SELECT ?, ?, ?, 2
) AS wanted STRAIGHT_JOIN `version_counters` AS counters FORCE INDEX (PRIMARY) ON counters.`crate_id` = wanted.entity
    AND counters.`number` = wanted.entity_1
    AND counters.`day` = wanted.entity_2
GROUP BY wanted.ordinality;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02]

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?), (?, ?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 2026-03-02, 2, 2, "1.0", 2026-03-02, 3]

COMMIT;

