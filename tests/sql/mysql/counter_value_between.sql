-- counter_value(views).of(1_i64).between(monday()..=sunday()).get_result::<i64>(conn)

SELECT *
FROM (
    SELECT COALESCE(SUM(`views`), 0) DIV 1 AS total
    FROM `article_counters`
    WHERE `article_id` = ?
        AND `day` BETWEEN ? AND ?
) AS totals
UNION
SELECT 0
FROM DUAL
WHERE FALSE;
-- [1, 2026-03-02, 2026-03-08]

