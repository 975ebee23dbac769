//! `doctor` while transactions wait for each other's rows.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::increment;

use crate::behaviour::Ran;
use crate::behaviour::doctor::{waits, with_counters};
use crate::{BACKEND, BYTES, Conn, IS_WAITING, SESSION_ID, TestDatabase};

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
// Connections share the slot.
diesel_counters::counter_table!(article_counters { slots = 1 });

/// On one day, also if it is midnight in between.
const DAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

pub fn count(article: i64, conn: &mut Conn) -> QueryResult<usize> {
    let count = increment(article_counters::views).of(article);
    count.on(DAY).execute(conn)
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
fn alone() -> MutexGuard<'static, ()> {
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
/// another one waits to count it. Tells the first one, too.
pub fn with_a_hot_row(database: &TestDatabase, look: impl FnOnce() -> Ran) -> (i64, Ran) {
    let count_it = |conn: &mut Conn| assert!(count(7, conn).is_ok());
    count_it(&mut database.connect());
    let found = while_waiting(database, count_it, count_it, look);
    let rows =
        article_counters::table.select((article_counters::article_id, article_counters::views));
    assert_eq!(rows.load(&mut database.connect()), Ok(vec![(7_i64, 3_i64)]));
    found
}

/// Runs `hold` in a transaction, and `wait`, which waits for a row of it, in another session.
/// Then looks. Tells the first session, too.
fn while_waiting(
    database: &TestDatabase,
    hold: impl FnOnce(&mut Conn),
    wait: impl FnOnce(&mut Conn) + Send,
    look: impl FnOnce() -> Ran,
) -> (i64, Ran) {
    let _alone = alone();
    let (waiter_is, waiter) = mpsc::channel();
    thread::scope(|scope| {
        let holder = &mut database.connect();
        begin(holder);
        hold(holder);
        scope.spawn(move || {
            let conn = &mut database.connect();
            waiter_is.send(session_id(conn)).unwrap();
            wait(conn);
        });
        await_wait(waiter.recv().unwrap(), &mut database.connect());
        let answer = look();
        let holder_id = session_id(holder);
        AnsiTransactionManager::commit_transaction(holder).unwrap();
        (holder_id, answer)
    })
}

/// With counters of article 7, to which a foreign key refers.
pub fn with_articles() -> TestDatabase {
    let database = with_counters();
    database.execute(
        "CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, title BIGINT NOT NULL);
         INSERT INTO articles VALUES (7, 0);
         ALTER TABLE article_counters ADD CONSTRAINT of_article
         FOREIGN KEY (article_id) REFERENCES articles (id)",
    );
    database
}

fn key_of_the_row(database: &TestDatabase) -> (String, i16) {
    let key = article_counters::table.select((article_counters::day, article_counters::slot));
    let (day, slot): (chrono::NaiveDate, i16) = key.first(&mut database.connect()).unwrap();
    (day.to_string(), slot)
}

#[test]
fn who_waits_for_which_row_and_who_holds_it_is_told() {
    let database = with_counters();
    let (holder, report) = with_a_hot_row(&database, || {
        let answer = database.run(&["doctor", "article_counters"]);
        answer.prints("Count last in the transaction");
        database.run(&["doctor", "article_counters", "--json"])
    });
    let (day, slot) = key_of_the_row(&database);
    assert_eq!(report.code, 3, "{report:?}");
    let report = report.json();
    let row = format!("entity 7, day {day}, slot {slot}");
    assert_eq!(waits(&report), [["row", &*row]], "{report}");
    assert_eq!(report["waits"][0]["sessions"], 1, "{report}");
    let says = report["waits"][0]["holder"].as_str().unwrap();
    let is_said = says.starts_with(&format!("session {holder}")) && says.contains("idle");
    assert!(is_said, "{report}");
}

/// A program that has forgotten its transaction holds up others: it is told once, with what ends it.
#[test]
fn all_waits_for_a_session_are_told_below_it_and_end_with_it() {
    let _alone = alone();
    let database = with_counters();
    let (waiter_is, waiters) = mpsc::channel();
    thread::scope(|scope| {
        let holder = &mut database.connect();
        let articles = [7, 8];
        let mut count_both = |begins: bool| {
            if begins {
                begin(holder);
            }
            for article in articles {
                count(article, holder).unwrap();
            }
        };
        count_both(false);
        count_both(true);
        for article in articles {
            let (database, waiter_is) = (&database, waiter_is.clone());
            scope.spawn(move || {
                let conn = &mut database.connect();
                waiter_is.send(session_id(conn)).unwrap();
                count(article, conn).unwrap();
            });
            await_wait(waiters.recv().unwrap(), &mut database.connect());
        }
        let session = session_id(holder);
        let end = match BACKEND {
            "postgres" => format!("SELECT pg_terminate_backend({session});"),
            _ => format!("KILL {session};"),
        };
        let told = database.command("doctor article_counters");
        told.finds(&format!("\nheld by session {session}"));
        told.prints(&format!("End the session:\n    {end}\n"));
        assert_eq!(told.stdout.matches("held by").count(), 1, "{told:?}");
        assert_eq!(told.stdout.matches("Count last").count(), 1, "{told:?}");
        let [first, second] = articles.map(|article| match BACKEND {
            // A transaction that holds two rows does not tell which one is waited for.
            "postgres" => "an unknown row: 2 sessions wait".to_owned(),
            _ => format!("entity {article}, day {DAY}, slot 1: 1 session waits"),
        });
        told.prints(&format!("\n  {first}"));
        told.prints(&format!("\n  {second}"));
        let report = database.command("doctor article_counters --json").json();
        for wait in report["waits"].as_array().unwrap() {
            assert_eq!(
                (&wait["holder_is_idle"], &wait["end"]),
                (&true.into(), &(&*end).into())
            );
        }
        database.execute(&end);
    });
    // What the session had counted is undone.
    assert_eq!(database.rows_and_sum("article_counters", "views"), (2, 4));
}

/// The same of SQL.
pub fn with_a_waiter(
    database: &TestDatabase,
    hold: &str,
    wait: &str,
    look: impl FnOnce() -> Ran,
) -> Ran {
    let hold = |conn: &mut Conn| conn.batch_execute(hold).unwrap();
    let wait = |conn: &mut Conn| {
        begin(conn);
        conn.batch_execute(wait).unwrap();
        AnsiTransactionManager::commit_transaction(conn).unwrap();
    };
    while_waiting(database, hold, wait, look).1
}

/// What `doctor` reports with [`with_a_waiter`] of the articles' counters.
pub fn report(database: &TestDatabase, hold: &str, wait: &str) -> serde_json::Value {
    let look = || database.command("doctor article_counters --json");
    with_a_waiter(database, hold, wait, look).json()
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
    answer.works();
    answer.prints(": no contention");
}

/// A counter table of URLs with one row.
fn with_url_counters(url: &str, row: &str) -> TestDatabase {
    let database = TestDatabase::create();
    database.create_counters("url_counters", &format!("url {url}"));
    database.execute(&format!(
        "INSERT INTO url_counters VALUES ({row}, '2026-01-01', 1, 5)"
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
    let row = "entity 00ff, day 2026-01-01, slot 1";
    assert_eq!(waits(&report), [["row", row]]);
}

#[test]
fn a_key_and_a_statement_have_no_power_over_the_terminal() {
    let database = with_url_counters("VARCHAR(99)", "'/\u{1b}[2J\n'");
    let count = format!("{COUNT_URL} /* \u{1b}[2J */");
    let look = || database.run(&["doctor", "url_counters"]);
    let answer = with_a_waiter(&database, &count, COUNT_URL, look);
    answer.prints(r"entity /\u{1b}[2J\n, day");
    assert!(!answer.stdout.contains('\u{1b}'), "{answer:?}");
}

#[test]
fn a_wait_for_the_foreign_keys_row_is_not_the_slots() {
    let database = with_articles();
    let hold = "SELECT id FROM articles WHERE id = 7 FOR UPDATE";
    let wait = "INSERT INTO article_counters VALUES (7, '2026-01-01', 1, 1)";
    let report = report(&database, hold, wait);
    let on = "a row of articles, which the foreign key locks";
    assert_eq!(waits(&report), [["parent_row", on]]);
}

#[test]
fn a_wait_for_the_row_of_any_foreign_key_is_told() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, title BIGINT NOT NULL);
         INSERT INTO articles VALUES (7, 0);
         CREATE TABLE article_counters (
            emoji VARCHAR(9) NOT NULL, article_id BIGINT NOT NULL, day DATE NOT NULL,
            slot SMALLINT NOT NULL, views BIGINT NOT NULL DEFAULT 0,
            PRIMARY KEY (emoji, article_id, day, slot),
            FOREIGN KEY (article_id) REFERENCES articles (id)
        )",
    );
    let hold = "SELECT id FROM articles WHERE id = 7 FOR UPDATE";
    let wait = "INSERT INTO article_counters VALUES ('a', 7, '2026-01-01', 1, 1)";
    let report = report(&database, hold, wait);
    let on = "a row of articles, which the foreign key locks";
    assert_eq!(waits(&report), [["parent_row", on]], "{report}");
}

/// Increments do not wait for the row that corrections lock, whatever the number of slots, but
/// takes do.
#[test]
fn a_wait_of_two_corrections_is_not_the_slots() {
    let stock = TestDatabase::create();
    let migration = "generate migration article_counters --entity article_id:bigint \
                     --counters views --stock views --period total --backend";
    stock.execute(&stock.command(&format!("{migration} {BACKEND}")).stdout);
    let correct = "UPDATE article_counters SET views = 5
                   WHERE article_id = 7 AND day = '1970-01-01' AND slot = 0";
    for (database, kind) in [(with_counters(), "correction"), (stock, "stock")] {
        database.execute("INSERT INTO article_counters VALUES (7, '1970-01-01', 0, 0)");
        let report = report(&database, correct, correct);
        assert_eq!(waits(&report)[0][0], kind, "{report}");
    }
}
