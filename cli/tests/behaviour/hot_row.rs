//! `doctor` while transactions wait for each other's rows.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::Slot;
use diesel_counters::dsl::increment;

use crate::behaviour::Ran;
use crate::behaviour::doctor::{advice, with_counters};
use crate::{Conn, IS_WAITING, SESSION_ID, TestDatabase, tells_last_statement};

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

/// Two connections that share a slot.
const SLOT: Slot = Slot::Partition { index: 3, of: 32 };

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

pub fn count(article: i64, conn: &mut Conn) -> QueryResult<usize> {
    increment(article_counters::views)
        .of(article)
        .slot(SLOT)
        .execute(conn)
}

pub fn session_id(conn: &mut Conn) -> i64 {
    number(SESSION_ID, conn)
}

pub fn number(sql: &str, conn: &mut Conn) -> i64 {
    let number: Number = diesel::sql_query(sql).get_result(conn).unwrap();
    number.value
}

pub fn begin(conn: &mut Conn) {
    AnsiTransactionManager::begin_transaction(conn).unwrap();
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// Much longer than anything takes, on a busy machine too. It only ends what hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// InnoDB shows the same waits for as long as anybody asks more often than every 100 ms:
/// so those that ask for them again and again must not run at once.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until the database says that the session waits.
pub fn await_wait(id: i64, conn: &mut Conn) {
    wait_until("it does not wait", || {
        let query = diesel::sql_query(IS_WAITING).bind::<BigInt, _>(id);
        query.get_result::<Number>(conn).unwrap().value > 0
    });
}

pub fn wait_until(or_else: &str, mut it_is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !it_is_so() {
        assert!(begun.elapsed() < PATIENCE, "{or_else}");
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Looks while one session has counted article 7 and is idle in its transaction, and
/// another one waits to count it. Tells the two, too.
pub fn with_a_hot_row(database: &TestDatabase, look: impl FnOnce() -> Ran) -> (i64, i64, Ran) {
    let _alone = alone();
    count(7, &mut database.connect()).unwrap();
    let (waiter_is, waiter) = mpsc::channel();
    let found = thread::scope(|scope| {
        let holder = &mut database.connect();
        begin(holder);
        count(7, holder).unwrap();
        scope.spawn(move || {
            let conn = &mut database.connect();
            waiter_is.send(session_id(conn)).unwrap();
            count(7, conn).unwrap();
        });
        let waiter = waiter.recv().unwrap();
        await_wait(waiter, &mut database.connect());
        let answer = look();
        let holder_id = session_id(holder);
        AnsiTransactionManager::commit_transaction(holder).unwrap();
        (holder_id, waiter, answer)
    });
    let rows =
        article_counters::table.select((article_counters::article_id, article_counters::views));
    assert_eq!(rows.load(&mut database.connect()), Ok(vec![(7_i64, 3_i64)]));
    found
}

fn key_of_the_row(database: &TestDatabase) -> (String, i16) {
    let key = article_counters::table.select((article_counters::day, article_counters::slot));
    let (day, slot): (chrono::NaiveDate, i16) = key.first(&mut database.connect()).unwrap();
    (day.to_string(), slot)
}

#[test]
fn who_waits_for_which_row_and_who_holds_it_is_told() {
    let database = with_counters();
    let (holder, waiter, answer) =
        with_a_hot_row(&database, || database.run(&["doctor", "article_counters"]));
    let (day, slot) = key_of_the_row(&database);

    assert_eq!(answer.code, 3, "{answer:?}");
    let row = format!("waits for entity 7, day {day}, slot {slot} (");
    let lines = [
        format!("session {waiter} ("),
        format!("held by session {holder} ("),
        row,
    ];
    for line in lines {
        assert!(answer.stdout.contains(&line), "no {line} in {answer:?}");
    }
    assert!(answer.stdout.contains("idle in transaction"), "{answer:?}");
    assert!(
        answer.stdout.contains("Count last in the transaction"),
        "{answer:?}"
    );
    assert!(answer.stdout.contains("slots = 32"), "{answer:?}");
}

#[test]
fn json_has_the_waits() {
    let database = with_counters();
    let (holder, waiter, answer) = with_a_hot_row(&database, || {
        database.run(&["doctor", "article_counters", "--json"])
    });
    let (day, slot) = key_of_the_row(&database);

    assert_eq!(answer.code, 3, "{answer:?}");
    let report = answer.json();
    assert_eq!(report["contention"], true);
    let [wait] = &report["waits"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    assert_eq!(wait["waiter"]["id"], waiter);
    assert_eq!(wait["holders"][0]["id"], holder);
    assert_eq!(wait["holders"][0]["idle_in_transaction"], true);
    assert!(wait["holders"][0]["idle_seconds"].is_number(), "{wait}");
    let row = serde_json::json!([{ "entity": "7", "day": day, "slot": slot }]);
    assert_eq!(wait["rows"], row);
    let statement = wait["waiter"]["statement"].as_str().unwrap();
    assert!(statement.starts_with("INSERT INTO"), "{statement}");
    if tells_last_statement(&mut database.connect()) {
        let statement = wait["holders"][0]["statement"].as_str().unwrap_or_default();
        assert!(statement.contains("article_counters"), "{wait}");
    }
    assert_eq!(advice(&report), ["count_last", "more_slots"]);
}

#[test]
fn a_watch_adds_up_what_it_saw() {
    let database = with_counters();
    let args = ["doctor", "article_counters", "--watch", "1", "--json"];
    let (_, _, answer) = with_a_hot_row(&database, || database.run(&args));
    let (day, slot) = key_of_the_row(&database);

    assert_eq!(answer.code, 3, "{answer:?}");
    let watch = &answer.json()["watch"];
    assert_eq!(watch["samples"], watch["samples_with_contention"]);
    assert_eq!(
        (&watch["waits"], &watch["most_at_once"]),
        (&1.into(), &1.into())
    );
    let row = serde_json::json!({ "entity": "7", "day": day, "slot": slot });
    assert_eq!(
        watch["rows"],
        serde_json::json!([{ "what": row, "waits": 1 }])
    );
    assert_eq!(watch["holders"][0]["waits"], 1);
}

#[test]
fn a_wait_for_another_tables_row_is_not_the_counters() {
    let _alone = alone();
    let database = with_counters();
    database
        .execute("CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, title BIGINT NOT NULL)");
    database.execute("INSERT INTO articles VALUES (7, 0)");
    let rename = "UPDATE articles SET title = title + 1 WHERE id = 7";
    let (waiter_is, waiter) = mpsc::channel();
    let answer = thread::scope(|scope| {
        let holder = &mut database.connect();
        begin(holder);
        count(7, holder).unwrap();
        diesel::sql_query(rename).execute(holder).unwrap();
        scope.spawn(|| {
            let conn = &mut database.connect();
            waiter_is.send(session_id(conn)).unwrap();
            begin(conn);
            count(8, conn).unwrap();
            diesel::sql_query(rename).execute(conn).unwrap();
            AnsiTransactionManager::commit_transaction(conn).unwrap();
        });
        await_wait(waiter.recv().unwrap(), &mut database.connect());
        let answer = database.run(&["doctor", "article_counters"]);
        AnsiTransactionManager::commit_transaction(holder).unwrap();
        answer
    });
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stdout.contains("nobody waits"), "{answer:?}");
}

#[test]
fn a_wait_for_the_foreign_keys_row_is_not_the_slots() {
    let _alone = alone();
    let database = with_counters();
    database.execute("CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY)");
    database.execute("INSERT INTO articles VALUES (7)");
    database.execute(
        "ALTER TABLE article_counters ADD CONSTRAINT of_article
         FOREIGN KEY (article_id) REFERENCES articles (id)",
    );
    let (waiter_is, waiter) = mpsc::channel();
    let args = ["doctor", "article_counters", "--watch", "1", "--json"];
    let (text, answer) = thread::scope(|scope| {
        let holder = &mut database.connect();
        begin(holder);
        let lock = "SELECT id AS value FROM articles WHERE id = 7 FOR UPDATE";
        let _: Number = diesel::sql_query(lock).get_result(holder).unwrap();
        scope.spawn(|| {
            let conn = &mut database.connect();
            waiter_is.send(session_id(conn)).unwrap();
            count(7, conn).unwrap();
        });
        await_wait(waiter.recv().unwrap(), &mut database.connect());
        let text = database.run(&args[..2]);
        let answer = database.run(&args);
        AnsiTransactionManager::commit_transaction(holder).unwrap();
        (text, answer)
    });
    assert_eq!((text.code, answer.code), (3, 3), "{answer:?}");
    let row = "waits for a row of articles, at which the foreign key of_article looks";
    assert!(text.stdout.contains(row), "{text:?}");
    let report = answer.json();
    assert_eq!(advice(&report), ["foreign_key"], "{report}");
    let elsewhere = serde_json::json!({ "table": "articles", "foreign_key": "of_article" });
    assert_eq!(report["waits"][0]["elsewhere"], elsewhere, "{report}");
    assert_eq!(report["watch"]["elsewhere"][0]["what"], elsewhere);
    assert_eq!(report["waits"][0]["rows"], serde_json::json!([]));
}
