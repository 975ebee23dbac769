-- increment((views, likes)).of(1_i64).by((2, 3)).on(monday()).execute(conn)

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`, `likes`)
VALUES (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`), `likes` = `likes` + VALUES(`likes`);
-- [1, 2026-03-02, 1, 32, 1, 2, 3]

