-- set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn)

BEGIN;

INSERT INTO `reaction_counters` AS counters (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE SET
    `given` = CASE
        typeof(counters.`given` + excluded.`given`)
        WHEN 'integer' THEN counters.`given` + excluded.`given`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "👍", 1970-01-01, 0]

SELECT CASE
    typeof(COALESCE(SUM(`given`), 0))
    WHEN 'integer' THEN COALESCE(SUM(`given`), 0)
    ELSE abs(-9223372036854775807 - 1)
END
FROM `reaction_counters`
WHERE `article_id` = ? AND `emoji` = ? AND `day` BETWEEN ? AND ?;
-- [1, "👍", 2026-03-02, 2026-03-02]

INSERT INTO `reaction_counters` AS counters (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE SET
    `given` = CASE
        typeof(counters.`given` + excluded.`given`)
        WHEN 'integer' THEN counters.`given` + excluded.`given`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "👍", 2026-03-02, 5]

COMMIT;

