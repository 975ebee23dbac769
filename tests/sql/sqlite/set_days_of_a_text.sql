-- set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO `page_counters` AS counters (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`path`, `day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- ["/", 1970-01-01, 0]

SELECT quote(`path`)
FROM `page_counters`
WHERE `path` IN (?) AND `day` = ? AND `slot` = 0;
-- ["/", 1970-01-01]

SELECT
    wanted.ordinality,
    CASE
        typeof(COALESCE(SUM(`hits`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`hits`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT column1 AS entity, column2 AS entity_1, CAST(column3 AS BIGINT) AS ordinality
    FROM (VALUES (?, ?, 1)) AS listed
) AS wanted
JOIN
    `page_counters` AS counters ON counters.`path` = wanted.entity
    AND counters.`day` = wanted.entity_1
GROUP BY wanted.ordinality;
-- ["/", 2026-03-02]

INSERT INTO `page_counters` AS counters (`path`, `day`, `slot`, `hits`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`path`, `day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- ["/", 2026-03-02, 3]

COMMIT;

