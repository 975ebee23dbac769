-- increment(wide_counters::hits).of((1_i16, 2, 3_i64, "d", b"e".as_slice())).on(monday()).execute(conn)

INSERT INTO `wide_counters` (`a`, `b`, `c`, `d`, `e`, `day`, `slot`, `hits`)
VALUES (?, ?, ?, ?, ?, ?, ? + CAST(IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % ? AS SIGNED) * ?, ?)
ON DUPLICATE KEY UPDATE `hits` = `hits` + VALUES(`hits`);
-- [1, 2, 3, "d", [101], 2026-03-02, 1, 32, 1, 1]

