-- set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn)

BEGIN;

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 1970-01-01, 0, 2, 1970-01-01, 0]

SELECT
    wanted.ordinality,
    CASE
        typeof(COALESCE(SUM(`views`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT column1 AS entity, column2 AS entity_1, CAST(column3 AS BIGINT) AS ordinality
    FROM (VALUES (?, ?, 1), (?, ?, 2)) AS listed
) AS wanted
JOIN
    `article_counters` AS counters ON counters.`article_id` = wanted.entity
    AND counters.`day` = wanted.entity_1
GROUP BY wanted.ordinality;
-- [1, 2026-03-02, 2, 2026-03-08]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?), (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-02, 1, 2, 2026-03-08, -1]

COMMIT;

