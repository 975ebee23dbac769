-- increment(random_counters::views).of(1_i64).on(monday()).execute(conn)

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 0, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-02, 1]

