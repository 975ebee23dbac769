//! Keys that the database refuses, of a buffer.

use std::sync::atomic::Ordering::SeqCst;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::buffer::Write;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::page_counters::hits;

use super::buffering::{Buffer, Test};
use super::{insert_articles, wait_until};
use crate::Conn;

fn refused(write: &Write) -> Vec<i64> {
    let refused = write.refused.iter();
    let mut keys: Vec<i64> = refused.map(|row| row.key.parse().unwrap()).collect();
    keys.sort();
    keys
}

/// A trigger of the application that fails in its language for positive counts of article 2, and for
/// all of article 3.
fn fail_in_german(conn: &mut Conn) {
    let text = if crate::HAS_SLOTS && !crate::IS_MYSQL {
        "bigint ist außerhalb"
    } else {
        "Wert ist nicht erlaubt"
    };
    let when = "NEW.article_id = 3 OR NEW.article_id = 2 AND NEW.views > 0";
    fail(when, text, conn);
}

/// A trigger that fails with this text.
fn fail(when: &str, text: &str, conn: &mut Conn) {
    let sql = if crate::IS_MYSQL {
        format!(
            "CREATE TRIGGER refuses BEFORE INSERT ON article_counters FOR EACH ROW
             IF {when} THEN
                 SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = '{text}';
             END IF"
        )
    } else if crate::HAS_SLOTS {
        format!(
            "CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF {when} THEN
                     RAISE EXCEPTION USING ERRCODE = '22003', MESSAGE = '{text}';
                 END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER refuses BEFORE INSERT ON article_counters
             FOR EACH ROW EXECUTE FUNCTION refuses()"
        )
    } else {
        format!(
            "CREATE TRIGGER refuses BEFORE INSERT ON article_counters WHEN {when} BEGIN
                 SELECT RAISE(ABORT, '{text}');
             END"
        )
    };
    conn.batch_execute(&sql).unwrap();
}

/// Flushes until nothing is pending: a busy machine can take a slow error for a lock that is held. Each
/// time, another row of the table can be written.
fn flush_all(test: &Test, buffer: &Buffer) -> Vec<i64> {
    let mut keys = Vec::new();
    let is_empty = wait_until(|| {
        buffer.count(increment(likes).of(1_i64)).unwrap();
        let write = test.flush(buffer);
        keys.extend(refused(&write));
        write.pending == 0
    });
    assert!(is_empty, "{:?}", buffer.pending());
    keys
}

/// It stays until another row is written: with no other, it may be that the table takes none.
#[test]
fn a_row_that_is_refused_with_an_unknown_text_is_reported_once_another_is_written() {
    let mut test = Test::new();
    fail_in_german(&mut test.conn);
    let buffer = test.buffer();
    buffer.count(increment(likes).of(3_i64)).unwrap();
    for _ in 0..3 {
        let write = test.flush(&buffer);
        assert!(write.error.is_some() && write.refused.is_empty(), "{write}");
    }
    for id in [1, 2, 4, 5_i64] {
        buffer.count(increment(views).of(id)).unwrap();
    }
    let mut keys = flush_all(&test, &buffer);
    keys.sort();
    assert_eq!(keys, [2, 3]);
    assert_eq!([1, 2, 3, 4, 5].map(|id| test.views(id)), [1, 0, 0, 1, 1]);
}

/// Fails for article 2 with a text that is not known, twice, and then with one of an error that
/// passes. Neither a sequence nor a variable of a session is rolled back.
const FAILS_IN_ANOTHER_WAY: [&str; 2] = [
    "CREATE SEQUENCE tries;
    CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.article_id = 2 THEN
            IF nextval('tries') < 3 THEN RAISE 'Wert ist nicht erlaubt'; END IF;
            RAISE 'Write conflict';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER refuses BEFORE INSERT ON article_counters
    FOR EACH ROW EXECUTE FUNCTION refuses()",
    "CREATE TRIGGER refuses BEFORE INSERT ON article_counters FOR EACH ROW
    IF NEW.article_id = 2 THEN
        SET @tries = COALESCE(@tries, 0) + 1;
        IF @tries < 3 THEN
            SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'Wert ist nicht erlaubt';
        END IF;
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'Write conflict';
    END IF",
];

/// The row is tried in its batch, alone, and once more before it would be refused.
#[test]
fn a_row_that_fails_again_for_a_reason_that_passes_is_held() {
    assert_second_row_is_held(FAILS_IN_ANOTHER_WAY);
}

/// Fails for article 2 with a text that is not known, and for article 1 from its fourth time on.
const FAILS_FOR_ALL_AT_LAST: [&str; 2] = [
    "CREATE SEQUENCE tries;
    CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.article_id = 2 OR nextval('tries') > 3 THEN
            RAISE 'Wert ist nicht erlaubt';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER refuses BEFORE INSERT ON article_counters
    FOR EACH ROW EXECUTE FUNCTION refuses()",
    "CREATE TRIGGER refuses BEFORE INSERT ON article_counters FOR EACH ROW
    BEGIN
        IF NEW.article_id = 1 THEN
            SET @tries = COALESCE(@tries, 0) + 1;
        END IF;
        IF NEW.article_id = 2 OR @tries > 3 THEN
            SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'Wert ist nicht erlaubt';
        END IF;
    END",
];

/// Article 1 is written in the batch of both, alone, before the second attempt of article 2, and
/// after it. The last one fails, so the table may take no rows at all any more.
#[test]
fn a_row_is_held_if_the_table_takes_no_other_row_after_it() {
    assert_second_row_is_held(FAILS_FOR_ALL_AT_LAST);
}

/// `triggers` is the one of PostgreSQL and the one of MySQL, which stop the row of article 2.
#[track_caller]
fn assert_second_row_is_held(triggers: [&str; 2]) {
    if !crate::HAS_SLOTS {
        return; // Nothing in SQLite survives a rollback.
    }
    let mut test = Test::new();
    let trigger = triggers[usize::from(crate::IS_MYSQL)];
    test.conn.batch_execute(trigger).unwrap();
    let buffer = test.buffer();
    let count = increment(views).of_many([(1_i64, 1), (2, 1)]);
    buffer.count(count).unwrap();
    let write = test.flush(&buffer);
    assert!(write.error.is_some() && write.refused.is_empty(), "{write}");
    assert_eq!((write.written, write.pending), (1, 1), "{write}");
}

/// Each attempt may wait for a lock.
#[test]
fn rows_that_all_conflict_are_left_after_some() {
    let mut test = Test::new();
    fail("NEW.article_id >= 100", "Write conflict", &mut test.conn);
    insert_articles(100..200, &mut test.conn);
    let buffer = test.buffer();
    for id in 100..200_i64 {
        buffer.count(increment(views).of(id)).unwrap();
    }
    test.connections.transactions.store(0, SeqCst);
    let write = test.flush(&buffer);
    let transactions = test.connections.transactions.load(SeqCst);
    assert!(write.error.is_some() && write.refused.is_empty(), "{write}");
    assert_eq!(write.pending, 100);
    assert!(transactions < 50, "{transactions} transactions");
}

/// In German, if the server has it. SQLite has one language.
#[test]
fn an_overflow_is_refused_in_another_language_of_the_server() {
    let mut test = Test::new();
    if crate::HAS_SLOTS {
        let language = ["de_DE.UTF-8", "de_DE"][usize::from(crate::IS_MYSQL)];
        let in_german = format!("SET SESSION lc_messages = '{language}'");
        let set = test.pool.get().unwrap().batch_execute(&in_german);
        assert!(set.is_ok() || !crate::IS_MYSQL, "{set:?}");
    }
    let buffer = test.buffer();
    let count = increment(views).of(2_i64).by(i64::MAX);
    buffer.count(count).unwrap();
    assert_eq!(test.flush(&buffer).written, 1);
    buffer.count(increment(views).of(2_i64)).unwrap();
    assert_eq!(flush_all(&test, &buffer), [2]);
    assert_eq!(test.views(2), i64::MAX);
    let long = "x".repeat(3_000);
    let refused = usize::from(crate::IS_MYSQL);
    buffer.count(increment(hits).of(long)).unwrap();
    buffer.count(increment(hits).of("/a".to_owned())).unwrap();
    assert_eq!(test.flush(&buffer).refused.len(), refused);
    if crate::IS_MYSQL {
        let language = diesel::dsl::sql::<diesel::sql_types::Text>("@@SESSION.lc_messages");
        let conn = &mut *test.pool.get().unwrap();
        let language = diesel::select(language).get_result::<String>(conn);
        assert_eq!(language.as_deref(), Ok("de_DE"));
    }
}

mod deferred {
    diesel_counters_tests::counter_table!(deferred_counters (article_id -> BigInt) (views));

    pub const TABLE: &str = "CREATE TABLE deferred_counters (
        article_id BIGINT   NOT NULL REFERENCES articles (id) DEFERRABLE INITIALLY DEFERRED,
        day        DATE     NOT NULL,
        slot       SMALLINT NOT NULL,
        views      BIGINT   NOT NULL DEFAULT 0,
        PRIMARY KEY (article_id, day, slot)
    )";

    pub const FAIL_AT_COMMIT: &str = "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN RAISE EXCEPTION ''Kein Platz''; END';
        CREATE CONSTRAINT TRIGGER fails AFTER UPDATE ON deferred_counters
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fails()";
}

/// The server itself has answered: the batch was rolled back, and is neither lost nor unknown.
#[test]
fn a_row_that_is_refused_at_the_commit_is_reported_and_the_others_are_written() {
    use deferred::deferred_counters::views;

    if crate::IS_MYSQL {
        return; // It has no deferred constraints.
    }
    let mut test = Test::new();
    test.conn.batch_execute(deferred::TABLE).unwrap();
    let buffer = test.buffer();
    for id in [1, 404, 2, 3_i64] {
        buffer.count(increment(views).of(id)).unwrap();
    }
    let write = test.flush(&buffer);
    assert!(write.unknown.is_empty(), "{write}");
    assert_eq!((write.written, write.pending), (3, 0), "{write}");
    assert_eq!(refused(&write), [404]);
    let all = counter_value(views).of(());
    assert_eq!(all.get_result(&mut test.conn), Ok(3_i64));
    if crate::HAS_SLOTS {
        // It runs before the COMMIT, so the batch is not unknown. It would refuse the row that was written,
        // too, so it may be that the table takes none.
        test.conn.batch_execute(deferred::FAIL_AT_COMMIT).unwrap();
        let count = increment(views).of_many([(1_i64, 1), (2, 1), (4, 1)]);
        buffer.count(count).unwrap();
        let write = test.flush(&buffer);
        assert!(write.unknown.is_empty(), "{write}");
        let rows = (write.written, write.pending, write.refused.len());
        assert_eq!(rows, (1, 2, 0), "{write}");
    }
}
