-- increment(wide_counters::hits).of((1_i16, 2, 3_i64, "d", b"e".as_slice())).on(monday()).execute(conn)

INSERT INTO `wide_counters` AS counters (`a`, `b`, `c`, `d`, `e`, `day`, `slot`, `hits`)
VALUES (?, ?, ?, ?, ?, ?, 0, ?)
ON CONFLICT (`a`, `b`, `c`, `d`, `e`, `day`, `slot`) DO UPDATE SET
    `hits` = CASE
        typeof(counters.`hits` + excluded.`hits`)
        WHEN 'integer' THEN counters.`hits` + excluded.`hits`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2, 3, "d", [101], 2026-03-02, 1]

