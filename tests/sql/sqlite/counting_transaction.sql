-- counting_transaction(conn, |tx| { tx.count(increment(views).of(1_i64).on(monday())); tx.count(increment(likes).of(2_i64).on(sunday())); QueryResult::Ok(()) })

BEGIN;

INSERT INTO `article_counters` AS counters (`article_id`, `day`, `slot`, `likes`, `views`)
VALUES (?, ?, 0, ?, ?), (?, ?, 0, ?, ?)
ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET
    `likes` = CASE
        typeof(counters.`likes` + excluded.`likes`)
        WHEN 'integer' THEN counters.`likes` + excluded.`likes`
        ELSE abs(-9223372036854775807 - 1)
    END,
    `views` = CASE
        typeof(counters.`views` + excluded.`views`)
        WHEN 'integer' THEN counters.`views` + excluded.`views`
        ELSE abs(-9223372036854775807 - 1)
    END;
-- [1, 2026-03-02, 0, 1, 2, 2026-03-08, 1, 0]

COMMIT;

