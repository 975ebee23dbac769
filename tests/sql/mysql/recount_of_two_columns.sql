-- recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>)

WITH
`true_counts` (`entity`, `entity_1`, `day`, `actual`) AS (
    SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
    FROM `crates`
)
SELECT `entity`, `entity_1`, `day`, COALESCE(SUM(`stored`), 0) DIV 1, COALESCE(SUM(`actual`), 0) DIV 1
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
    SELECT CAST(`entity` AS SIGNED), `entity_1`, CAST(`day` AS DATE), 0, `actual`
    FROM `true_counts`
) AS compared
WHERE `entity` = ?
GROUP BY `entity`, `entity_1`, `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`, `entity_1`, `day`;
-- [1, 1]

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 0, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 1970-01-01, 0]

WITH
`true_counts` (`entity`, `entity_1`, `day`, `actual`) AS (
    SELECT `crates`.`id`, '1.0', date('2026-03-02'), `crates`.`total_downloads`
    FROM `crates`
)
SELECT `entity`, `entity_1`, `day`, COALESCE(SUM(`stored`), 0) DIV 1, COALESCE(SUM(`actual`), 0) DIV 1
FROM (
    SELECT
        `crate_id` AS `entity`,
        `number` AS `entity_1`,
        `day` AS `day`,
        SUM(`downloads`) AS `stored`,
        0 AS `actual`
    FROM `version_counters`
    WHERE (`crate_id`, `number`) IN ((?, ?), (?, ?))
    GROUP BY `crate_id`, `number`, `day`
    UNION ALL
    SELECT CAST(`entity` AS SIGNED), `entity_1`, CAST(`day` AS DATE), 0, `actual`
    FROM `true_counts`
) AS compared
WHERE (`entity`, `entity_1`) IN ((?, ?), (?, ?))
GROUP BY `entity`, `entity_1`, `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `entity`, `entity_1`, `day`;
-- [1, "1.0", 1, "1.0", 1, "1.0", 1, "1.0"]

INSERT INTO `version_counters` (`crate_id`, `number`, `day`, `slot`, `downloads`)
VALUES (?, ?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `downloads` = `downloads` + VALUES(`downloads`);
-- [1, "1.0", 2026-03-02, -1]

COMMIT;

