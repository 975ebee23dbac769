//! `doctor` while transactions wait for each other's rows.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::Slot;
use diesel_counters::dsl::increment;

use crate::behaviour::Ran;
use crate::behaviour::doctor::{advice, with_counters};
use crate::{BYTES, Conn, IS_WAITING, SESSION_ID, TestDatabase, tells_last_statement};

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters);

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
    assert_eq!(wait["waiter"]["counted_earlier"], false);
    assert_eq!(wait["holders"][0]["id"], holder);
    assert_eq!(wait["holders"][0]["state"], "idle in transaction");
    assert_eq!(wait["holders"][0]["counted_earlier"], true);
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
    assert_eq!(watch["looks"], watch["looks_with_contention"]);
    assert_eq!(
        (&watch["waits"], &watch["most_at_once"]),
        (&1.into(), &1.into())
    );
    let row = serde_json::json!({ "entity": "7", "day": day, "slot": slot });
    assert_eq!(
        watch["rows"],
        serde_json::json!([{ "value": row, "waits": 1 }])
    );
    assert_eq!(watch["holders"][0]["waits"], 1);
    assert_eq!(watch["holders"][0]["value"]["counted_earlier"], true);
}

/// Runs `hold` in a transaction, and `wait`, which waits for a row of it, in another session.
/// Then looks.
pub fn with_a_waiter(
    database: &TestDatabase,
    hold: &str,
    wait: &str,
    look: impl FnOnce() -> Ran,
) -> Ran {
    let _alone = alone();
    let (waiter_is, waiter) = mpsc::channel();
    thread::scope(|scope| {
        let holder = &mut database.connect();
        begin(holder);
        holder.batch_execute(hold).unwrap();
        scope.spawn(move || {
            let conn = &mut database.connect();
            waiter_is.send(session_id(conn)).unwrap();
            begin(conn);
            conn.batch_execute(wait).unwrap();
            AnsiTransactionManager::commit_transaction(conn).unwrap();
        });
        await_wait(waiter.recv().unwrap(), &mut database.connect());
        let answer = look();
        AnsiTransactionManager::commit_transaction(holder).unwrap();
        answer
    })
}

#[test]
fn a_wait_for_another_tables_row_is_not_the_counters() {
    let database = with_counters();
    database.execute(
        "CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, title BIGINT NOT NULL);
         INSERT INTO articles VALUES (7, 0);
         INSERT INTO article_counters VALUES (7, '2026-01-01', 1, 0), (8, '2026-01-01', 1, 0)",
    );
    let count_and_rename = |article| {
        format!(
            "UPDATE article_counters SET views = 1 WHERE article_id = {article};
             UPDATE articles SET title = title + 1 WHERE id = 7"
        )
    };
    let (hold, wait) = (count_and_rename(7), count_and_rename(8));
    let look = || database.run(&["doctor", "article_counters"]);
    let answer = with_a_waiter(&database, &hold, &wait, look);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stdout.contains("no session waits"), "{answer:?}");
}

/// A counter table of URLs with one row.
fn with_url_counters(url: &str, row: &str) -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(&format!(
        "CREATE TABLE url_counters (
            url {url} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (url, day, slot)
        );
        INSERT INTO url_counters VALUES ({row}, '2026-01-01', 1, 5)"
    ));
    database
}

const COUNT_URL: &str = "UPDATE url_counters SET views = views + 1";

#[test]
fn a_key_of_bytes_is_told_as_hexadecimal_digits() {
    let [bytes, key] = BYTES;
    let database = with_url_counters(bytes, key);
    let look = || database.run(&["doctor", "url_counters", "--json"]);
    let report = with_a_waiter(&database, COUNT_URL, COUNT_URL, look).json();
    assert_eq!(report["waits"][0]["rows"][0]["entity"], "00ff", "{report}");
}

#[test]
fn a_key_and_a_statement_have_no_power_over_the_terminal() {
    let database = with_url_counters("VARCHAR(99)", "'/\u{1b}[2J\n'");
    let count = format!("{COUNT_URL} /* \u{1b}[2J */");
    let look = || database.run(&["doctor", "url_counters"]);
    let answer = with_a_waiter(&database, COUNT_URL, &count, look);
    let [key, statement] = [r"entity /\u{1b}[2J\n, day", r"/* \u{1b}[2J */"];
    assert!(answer.stdout.contains(key), "{answer:?}");
    assert!(answer.stdout.contains(statement), "{answer:?}");
    assert!(!answer.stdout.contains('\u{1b}'), "{answer:?}");
}

#[test]
fn a_wait_for_the_foreign_keys_row_is_not_the_slots() {
    let database = with_counters();
    database.execute(
        "CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY);
         INSERT INTO articles VALUES (7);
         ALTER TABLE article_counters ADD CONSTRAINT of_article
         FOREIGN KEY (article_id) REFERENCES articles (id)",
    );
    let hold = "SELECT id FROM articles WHERE id = 7 FOR UPDATE";
    let wait = "INSERT INTO article_counters VALUES (7, '2026-01-01', 1, 1)";
    let args = ["doctor", "article_counters", "--watch", "1", "--json"];
    let look = || {
        let text = database.run(&args[..2]);
        assert_eq!(text.code, 3, "{text:?}");
        let row = "waits for a row of articles, which the foreign key locks";
        assert!(text.stdout.contains(row), "{text:?}");
        database.run(&args)
    };
    let answer = with_a_waiter(&database, hold, wait, look);
    assert_eq!(answer.code, 3, "{answer:?}");
    let report = answer.json();
    assert_eq!(advice(&report), ["foreign_key"], "{report}");
    assert_eq!(report["waits"][0]["parent_table"], "articles", "{report}");
    assert_eq!(report["watch"]["parent_tables"][0]["value"], "articles");
    assert_eq!(report["waits"][0]["rows"], serde_json::json!([]));
}

/// Increments do not wait for the row that corrections lock, whatever the number of slots.
#[test]
fn a_wait_of_two_corrections_is_not_the_slots() {
    let database = with_counters();
    database.execute("INSERT INTO article_counters VALUES (7, '1970-01-01', 0, 0)");
    let correct = "UPDATE article_counters SET views = 5
                   WHERE article_id = 7 AND day = '1970-01-01' AND slot = 0";
    let look = || database.run(&["doctor", "article_counters", "--json"]);
    let report = with_a_waiter(&database, correct, correct, look).json();
    let advice = advice(&report);
    assert!(advice.contains(&"correction"), "{report}");
    assert!(!advice.contains(&"more_slots"), "{report}");
}
