-- increment(random_counters::views).of(1_i64).on(monday()).execute(conn)

INSERT INTO "article_counters" AS counters ("article_id", "day", "slot", "views")
VALUES ($1, $2, 1 + floor(random() * 32)::int, $3)
ON CONFLICT ("article_id", "day", "slot") DO UPDATE SET
    "views" = counters."views" + excluded."views";
-- [1, 2026-03-02, 1]

