-- set_counter(views).of(1_i64).on(monday()).to(7).execute(conn)

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
WHERE `article_id` = ? AND `day` BETWEEN ? AND ?;
-- [1, 2026-03-02, 2026-03-02]

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-02, 5]

COMMIT;

