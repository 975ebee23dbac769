-- increment((views, likes)).of(1_i64).by((2, 3)).on(monday()).execute(conn)

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `views`, `likes`)
VALUES (?, ?, 0, ?, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END,
    `likes` = CASE
        typeof(counters.`likes` + excluded.`likes`)
        WHEN 'integer' THEN counters.`likes` + excluded.`likes`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-02, 2, 3]

