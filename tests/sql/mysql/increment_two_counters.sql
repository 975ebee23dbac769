-- increment((views, likes)).of(1_i64).by((2, 3)).on(monday()).execute(conn)

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`), `likes` = `likes` + VALUES(`likes`);
-- [1, 2026-03-02, 2, 3]

