-- recount((views, likes), articles::table.select((articles::id, 0.into_sql::<BigInt>(), 0.into_sql::<BigInt>()))).dry_run(conn).map(drop::<Vec<Drift<i64, _>>>)

WITH `true_counts` (`entity`, `actual`, `actual_1`) AS (SELECT `articles`.`id`, ?, ? FROM `articles`)
SELECT
    `entity`,
    COALESCE(SUM(`stored`), 0) DIV 1,
    COALESCE(SUM(`stored_1`), 0) DIV 1,
    COALESCE(SUM(`actual`), 0) DIV 1,
    COALESCE(SUM(`actual_1`), 0) DIV 1
FROM (
    SELECT
        `article_id` AS `entity`,
        SUM(`views`) AS `stored`,
        SUM(`likes`) AS `stored_1`,
        0 AS `actual`,
        0 AS `actual_1`
    FROM `article_counters`
    GROUP BY `article_id`
    UNION ALL
    SELECT CAST(`entity` AS SIGNED), 0, 0, `actual`, `actual_1`
    FROM `true_counts`
) AS compared
GROUP BY `entity`
HAVING SUM(`stored`) <> SUM(`actual`) OR SUM(`stored_1`) <> SUM(`actual_1`)
ORDER BY `entity`;
-- [0, 0]

