-- set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO `version_counters` AS counters (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?), (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE SET
    `downloads` = CASE
        typeof(counters.`downloads` + excluded.`downloads`)
        WHEN 'integer' THEN counters.`downloads` + excluded.`downloads`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "1.0", 1970-01-01, 0, 2, "1.0", 1970-01-01, 0]

SELECT quote(`crate_id`), quote(`number`)
FROM `version_counters`
WHERE (`crate_id`, `number`) IN (VALUES (?, ?), (?, ?)) AND `day` = ? AND `slot` = 0;
-- [1, "1.0", 2, "1.0", 1970-01-01]

SELECT
    wanted.ordinality,
    CASE
        typeof(COALESCE(SUM(`downloads`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`downloads`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT column1 AS entity, column2 AS entity_1, column3 AS entity_2, CAST(column4 AS BIGINT) AS ordinality
    FROM (VALUES (?, ?, ?, 1), (?, ?, ?, 2)) AS listed
) AS wanted
JOIN
    `version_counters` AS counters ON counters.`crate_id` = wanted.entity
    AND counters.`number` = wanted.entity_1
    AND counters.`day` = wanted.entity_2
GROUP BY wanted.ordinality;
-- [1, "1.0", 2026-03-02, 2, "1.0", 2026-03-02]

INSERT INTO `version_counters` AS counters (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?), (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE SET
    `downloads` = CASE
        typeof(counters.`downloads` + excluded.`downloads`)
        WHEN 'integer' THEN counters.`downloads` + excluded.`downloads`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "1.0", 2026-03-02, 2, 2, "1.0", 2026-03-02, 3]

COMMIT;

