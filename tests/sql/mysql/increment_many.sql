-- increment(views).on(monday()).of_many([(2_i64, 5), (1, 1), (3, 2)]).execute(conn)

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?),
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 1, 2, 2026-03-02, 5]

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [3, 2026-03-02, 2]

