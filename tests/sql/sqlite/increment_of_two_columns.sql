-- increment(reaction_counters::given).of((1_i64, "👍")).on(monday()).execute(conn)

INSERT INTO `reaction_counters` AS counters (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, 0, ?)
ON CONFLICT (`article_id`, `emoji`, `day`, `slot`) DO UPDATE SET
    `given` = CASE
        typeof(counters.`given` + excluded.`given`)
        WHEN 'integer' THEN counters.`given` + excluded.`given`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, "👍", 2026-03-02, 1]

