-- increment(reaction_counters::given).on(monday()).of_many([((1_i64, "👍"), 5), ((1, "🎉"), 1)]).execute(conn)

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?), (?, ?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "🎉", 2026-03-02, 1, 32, 1, 1, 1, "👍", 2026-03-02, 1, 32, 1, 5]

