-- recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn)

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

WITH `true_counts` (`day`, `actual`) AS (SELECT date('2026-03-02'), COUNT(*) FROM `comments`)
SELECT
    `day`,
    CASE
        typeof(COALESCE(SUM(`stored`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`stored`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END,
    CASE
        typeof(COALESCE(SUM(`actual`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`actual`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT `day` AS `day`, SUM(`hits`) AS `stored`, 0 AS `actual`
    FROM `site_counters`
    GROUP BY `day`
    UNION ALL
    SELECT `day`, 0, `actual`
    FROM `true_counts`
) AS compared
GROUP BY `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `day`;

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

