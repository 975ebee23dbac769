-- recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>)

WITH
`true_counts` (`entity`, `entity_1`, `day`, `actual`) AS (
    SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
    FROM `crates`
)
SELECT
    `entity`,
    `entity_1`,
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
    SELECT
        `crate_id` AS `entity`,
        `number` AS `entity_1`,
        `day` AS `day`,
        SUM(`downloads`) AS `stored`,
        0 AS `actual`
    FROM `version_counters`
    WHERE `crate_id` = ?
    GROUP BY `crate_id`, `number`, `day`
    UNION ALL
    SELECT `entity`, `entity_1`, `day`, 0, `actual`
    FROM `true_counts`
) AS compared
WHERE `entity` = ?
GROUP BY `entity`, `entity_1`, `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`, `entity_1`, `day`;
-- [1, 1]

BEGIN;

INSERT INTO `version_counters` AS counters (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE SET
    `downloads` = CASE
        typeof(counters.`downloads` + excluded.`downloads`)
        WHEN 'integer' THEN counters.`downloads` + excluded.`downloads`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "1.0", 1970-01-01, 0]

WITH
`true_counts` (`entity`, `entity_1`, `day`, `actual`) AS (
    SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
    FROM `crates`
)
SELECT
    `entity`,
    `entity_1`,
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
    SELECT
        `crate_id` AS `entity`,
        `number` AS `entity_1`,
        `day` AS `day`,
        SUM(`downloads`) AS `stored`,
        0 AS `actual`
    FROM `version_counters`
    WHERE (`crate_id`, `number`) IN (VALUES (?, ?))
    GROUP BY `crate_id`, `number`, `day`
    UNION ALL
    SELECT `entity`, `entity_1`, `day`, 0, `actual`
    FROM `true_counts`
) AS compared
WHERE (`entity`, `entity_1`) IN (VALUES (?, ?))
GROUP BY `entity`, `entity_1`, `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`, `entity_1`, `day`;
-- [1, "1.0", 1, "1.0"]

INSERT INTO `version_counters` AS counters (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`crate_id`, `number`, `day`, `slot`) DO UPDATE SET
    `downloads` = CASE
        typeof(counters.`downloads` + excluded.`downloads`)
        WHEN 'integer' THEN counters.`downloads` + excluded.`downloads`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "1.0", 2026-03-02, -1]

COMMIT;

