-- increment(reaction_counters::given).on(monday()).of_many([((1_i64, "👍"), 5), ((1, "🎉"), 1)]).execute(conn)

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES
    (?, ?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?),
    (?, ?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "🎉", 2026-03-02, 1, 1, "👍", 2026-03-02, 5]

