-- counting_transaction(conn, |tx| { tx.count(increment(views).of(1_i64).on(monday())); tx.count(increment(likes).of(2_i64).on(sunday())); QueryResult::Ok(()) })

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`, `views`)
VALUES
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?, ?),
    (?, ?, 1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32, ?, ?)
ON DUPLICATE KEY UPDATE `likes` = `likes` + VALUES(`likes`), `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 0, 1, 2, 2026-03-08, 1, 0]

COMMIT;

