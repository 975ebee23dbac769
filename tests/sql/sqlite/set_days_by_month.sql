-- set_counter(monthly_counters::views).of_days([(1_i64, monday(), 3)]).execute(conn)

BEGIN;

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 1970-01-01, 0]

SELECT
    wanted.ordinality,
    CASE
        typeof(COALESCE(SUM(`views`), 0))
        WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
        ELSE abs(-9223372036854775807 - 1)
    END
FROM (
    SELECT column1 AS entity, column2 AS entity_1, column3 AS entity_2, CAST(column4 AS BIGINT) AS ordinality
    FROM (VALUES (?, ?, ?, 1)) AS listed
) AS wanted
JOIN
    `article_counters` AS counters ON counters.`article_id` = wanted.entity
    AND `day` BETWEEN wanted.entity_1 AND wanted.entity_2
GROUP BY wanted.ordinality;
-- [1, 2026-03-01, 2026-03-31]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-01, 1]

COMMIT;

