-- counting_transaction(conn, |tx| { tx.count(increment(views).of(1_i64).on(monday())); tx.count(increment(likes).of(2_i64).on(sunday())); QueryResult::Ok(()) })

BEGIN;

INSERT INTO `article_counters` (`article_id`, `day`, `slot`, `likes`, `views`)
VALUES (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?, ?), (?, ?, ? + CAST(COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID()) % ? AS SIGNED) * ?, ?, ?)
ON DUPLICATE KEY UPDATE `likes` = `likes` + VALUES(`likes`), `views` = `views` + VALUES(`views`);
-- [1, 2026-03-02, 1, 32, 1, 0, 1, 2, 2026-03-08, 1, 32, 1, 1, 0]

COMMIT;

