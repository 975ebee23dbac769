-- increment(random_counters::views).of(1_i64).on(monday()).execute(conn)

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `views`)
VALUES (?, ?, 1 + FLOOR(RAND() * 32), ?)
ON DUPLICATE KEY UPDATE `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 1]

