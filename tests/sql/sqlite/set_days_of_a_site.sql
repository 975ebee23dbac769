-- set_counter(site_counters::hits).of_days([((), monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO `site_counters` AS counters (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON CONFLICT (`day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1970-01-01, 0]

SELECT
    wanted.ordinality,
    CASE
        typeof(COALESCE(SUM(`hits`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`hits`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT column1 AS entity, CAST(column2 AS BIGINT) AS ordinality
    FROM (VALUES (?, 1)) AS listed
) AS wanted
JOIN `site_counters` AS counters ON counters.`day` = wanted.entity
GROUP BY wanted.ordinality;
-- [2026-03-02]

INSERT INTO `site_counters` AS counters (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON CONFLICT (`day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [2026-03-02, 1]

COMMIT;

