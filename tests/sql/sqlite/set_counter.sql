-- set_counter(weekly_counters::views).of(1_i64).to(7).execute(conn)

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

SELECT CASE
    typeof(COALESCE(SUM(`views`), 0))
    WHEN 'integer' THEN COALESCE(SUM(`views`), 0)
    ELSE abs(-9223372036854775807 - 1)
END
FROM `article_counters`
WHERE `article_id` = ?;
-- [1]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-12-28, 5]

COMMIT;

