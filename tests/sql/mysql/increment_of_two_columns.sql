-- increment(reaction_counters::given).of((1_i64, "👍")).on(monday()).execute(conn)

INSERT INTO `reaction_counters` (`article_id`, `emoji`, `day`, `slot`, `given`)
VALUES (?, ?, ?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `given` = `given` + VALUES(`given`);
-- [1, "👍", 2026-03-02, 1, 32, 1, 1]

