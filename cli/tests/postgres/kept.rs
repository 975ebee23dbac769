//! Counts that stay: the trigger of an UPDATE has all old rows and all new ones, and pairs them.

use crate::behaviour::Execute;
use crate::behaviour::triggers::{number, open};
use crate::{Conn, TestDatabase};

const COUNT_MESSAGES: &str = r#"
[[trigger]]
name = "count_messages"
rows = "messages"
count = ["channel_id:channel_counters.messages", "site_counters.characters=characters"]
"#;

/// The same, which keeps the counts of messages that are deleted.
fn keep_deleted() -> String {
    format!("{COUNT_MESSAGES}deleted = \"kept\"\n")
}

/// Messages, of which these columns are the key, and the counters.
fn messages(key: &str, more: &str) -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(&format!(
        "CREATE TABLE channel_counters (
             channel_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             messages BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (channel_id, day, slot)
         );
         CREATE TABLE site_counters (
             day DATE NOT NULL, slot SMALLINT NOT NULL, characters BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (day, slot)
         );
         CREATE TABLE messages (
             id BIGINT NOT NULL {key}, channel_id BIGINT, other_id BIGINT, characters BIGINT NOT NULL DEFAULT 1
         ) {more}"
    ));
    database
}

/// Whether the counters have these numbers of messages, and of characters.
#[track_caller]
fn assert_counts(channels: [i64; 3], characters: i64, conn: &mut Conn) {
    let of = |channel: i64, conn: &mut _| {
        number(
            &format!(
                "SELECT CAST(COALESCE(SUM(messages), 0) AS BIGINT) FROM channel_counters WHERE channel_id = {channel}"
            ),
            conn,
        )
    };
    assert_eq!([7, 8, 9].map(|channel| of(channel, conn)), channels);
    let sum = "SELECT CAST(COALESCE(SUM(characters), 0) AS BIGINT) FROM site_counters";
    assert_eq!(number(sum, conn), characters);
}

/// The tables of a statement have the same rows, whichever row has got which key.
#[test]
fn rows_that_exchange_their_keys_stay() {
    let database = messages("PRIMARY KEY DEFERRABLE", "");
    database.count(&keep_deleted());
    let conn = &mut open(&database);
    conn.run("INSERT INTO messages VALUES (1, 7), (2, 8)");
    assert_counts([1, 1, 0], 2, conn);
    conn.run("UPDATE messages SET id = 3 - id");
    assert_counts([1, 1, 0], 2, conn);
    conn.run("UPDATE messages SET channel_id = 15 - channel_id");
    assert_counts([2, 2, 0], 2, conn);
    // Each row gets the key of the other one. The row of channel 7 stays there, and the other one moves.
    conn.run(
        "UPDATE messages SET id = 3 - id, channel_id = CASE channel_id WHEN 8 THEN 9 ELSE 7 END, characters = 5",
    );
    assert_counts([2, 2, 1], 10, conn);
}

/// Without pairs: each old row is taken off, and each new one is added.
#[test]
fn rows_that_exchange_a_deferrable_key_are_counted() {
    let database = messages("PRIMARY KEY DEFERRABLE", "");
    database.count(COUNT_MESSAGES);
    let conn = &mut open(&database);
    conn.run("INSERT INTO messages VALUES (1, 7), (2, 8)");
    conn.run("UPDATE messages SET id = 3 - id");
    assert_counts([1, 1, 0], 2, conn);
    conn.run(
        "BEGIN; SET CONSTRAINTS ALL DEFERRED; INSERT INTO messages VALUES (2, 9);
         DELETE FROM messages WHERE id = 2 AND channel_id = 7; COMMIT",
    );
    assert_counts([0, 1, 1], 2, conn);
    database.assert_agrees();
}

/// Rows that are equal, and rows without a key.
#[test]
fn a_table_without_a_key_is_counted() {
    let database = messages("", "");
    database.count(&keep_deleted());
    let conn = &mut open(&database);
    conn.run("INSERT INTO messages VALUES (1, 7), (1, 7), (1, 8)");
    conn.run("UPDATE messages SET id = 2, characters = 3");
    assert_counts([2, 1, 0], 9, conn);
    conn.run("UPDATE messages SET channel_id = 9 WHERE ctid = (SELECT min(ctid) FROM messages)");
    assert_counts([2, 1, 1], 9, conn);
}

/// Two foreign keys change one row one after the other, in one statement.
#[test]
fn a_row_that_a_statement_changes_twice_stays() {
    let database = messages("PRIMARY KEY", "");
    database.execute(
        "CREATE TABLE users (id BIGINT PRIMARY KEY);
         INSERT INTO users VALUES (1);
         ALTER TABLE messages ADD writer_id BIGINT REFERENCES users ON DELETE SET NULL,
             ADD reader_id BIGINT REFERENCES users ON DELETE SET NULL",
    );
    database.count(&keep_deleted());
    let conn = &mut open(&database);
    conn.run("INSERT INTO messages (id, channel_id, writer_id, reader_id) VALUES (1, 7, 1, 1), (2, 8, 1, NULL)");
    conn.run("DELETE FROM users");
    assert_counts([1, 1, 0], 2, conn);
}

/// The order of the rows is that of the statement, whatever its plan.
#[test]
fn many_rows_are_paired_in_any_order() {
    let database = messages("PRIMARY KEY", "");
    database.count(&keep_deleted());
    let conn = &mut open(&database);
    // The session keeps the plan of this statement.
    conn.run(
        "INSERT INTO messages VALUES (0, 7); UPDATE messages SET id = -1; DELETE FROM messages",
    );
    // The rows of a statement do not fit in this memory.
    conn.run("SET work_mem = '64kB'");
    conn.run("INSERT INTO messages SELECT i, 7 + i % 2 FROM generate_series(1, 5000) i");
    assert_counts([2501, 2500, 0], 5001, conn);
    conn.run("UPDATE messages SET id = -id");
    conn.run(
        "UPDATE messages SET id = shuffled.id, characters = 2
         FROM (SELECT 10000 + row_number() OVER (ORDER BY md5(m.id::text)) AS id, m.id AS was FROM messages m) AS shuffled
         WHERE messages.id = shuffled.was",
    );
    assert_counts([2501, 2500, 0], 10001, conn);
    conn.run(
        "INSERT INTO messages SELECT id, 7, 1, 2 FROM messages
         ON CONFLICT (id) DO UPDATE SET id = messages.id + 10000,
             channel_id = CASE messages.id % 5 WHEN 0 THEN 9 ELSE messages.channel_id END",
    );
    assert_counts([2501, 2500, 1000], 10001, conn);
}

/// The server deletes such a row, and inserts it in the other partition.
#[test]
fn rows_that_change_their_partition_stay() {
    let database = messages("PRIMARY KEY", "PARTITION BY RANGE (id)");
    database.execute(
        "CREATE TABLE few PARTITION OF messages FOR VALUES FROM (0) TO (100);
         CREATE TABLE more PARTITION OF messages FOR VALUES FROM (100) TO (1000)",
    );
    database.count(&keep_deleted());
    let conn = &mut open(&database);
    conn.run("INSERT INTO messages VALUES (1, 7), (2, 7), (3, 8)");
    conn.run("UPDATE messages SET id = CASE id WHEN 2 THEN 20 ELSE id + 100 END");
    assert_counts([2, 1, 0], 3, conn);
    conn.run("UPDATE messages SET id = (id + 100) % 200, channel_id = 9 WHERE id > 100");
    assert_counts([2, 1, 2], 3, conn);
    // A row that does not come where it goes leaves the others without their places.
    conn.run(
        "CREATE FUNCTION skip_even() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.id % 2 = 0 THEN RETURN NULL; END IF; RETURN NEW;
         END $$;
         CREATE TRIGGER skip_even BEFORE INSERT ON more FOR EACH ROW EXECUTE FUNCTION skip_even()",
    );
    let skipped = diesel::connection::SimpleConnection::batch_execute(
        conn,
        "UPDATE messages SET id = id + 100",
    );
    let error = skipped.unwrap_err().to_string();
    assert!(
        error.contains("a trigger removed a row of messages that an UPDATE moved"),
        "{error}"
    );
    assert_counts([2, 1, 2], 3, conn);
}
