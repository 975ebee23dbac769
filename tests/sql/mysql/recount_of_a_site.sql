-- recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn)

SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

BEGIN;

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1970-01-01, 0]

WITH `true_counts` (`day`, `actual`) AS (SELECT date('2026-03-02'), COUNT(*) FROM `comments`)
SELECT `day`, COALESCE(SUM(`stored`), 0) DIV 1, COALESCE(SUM(`actual`), 0) DIV 1
FROM (
    SELECT `day` AS `day`, SUM(`hits`) AS `stored`, 0 AS `actual`
    FROM `site_counters`
    GROUP BY `day`
    UNION ALL
    SELECT CAST(`day` AS DATE), 0, `actual`
    FROM `true_counts`
) AS compared
GROUP BY `day`
HAVING SUM(`stored`) <> SUM(`actual`)
ORDER BY `day`;

INSERT INTO `site_counters` (`day`, `slot`, `hits`)
VALUES (?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [2026-03-02, 1]

COMMIT;

