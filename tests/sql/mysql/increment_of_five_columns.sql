-- increment(wide_counters::hits).of((1_i16, 2, 3_i64, "d", b"e".as_slice())).on(monday()).execute(conn)

INSERT INTO `wide_counters` (`a`, `b`, `c`, `d`, `e`, `day`, `slot`, `hits`)
VALUES (?, ?, ?, ?, ?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1, 2, 3, "d", [101], 2026-03-02, 1]

