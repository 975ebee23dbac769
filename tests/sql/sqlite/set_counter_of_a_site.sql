-- set_counter(site_counters::hits).on(monday()).to(7).execute(conn)

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

SELECT CASE
    typeof(COALESCE(SUM(`hits`), 0))
    WHEN 'integer' THEN COALESCE(SUM(`hits`), 0)
    ELSE abs(-9223372036854775807 - 1)
END
FROM `site_counters`
WHERE `day` BETWEEN ? AND ?;
-- [2026-03-02, 2026-03-02]

INSERT INTO `site_counters` AS counters (`day`, `slot`, `hits`)
VALUES (?, 0, ?)
ON CONFLICT (`day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [2026-03-02, 5]

COMMIT;

