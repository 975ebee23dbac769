//! "A quota for each day", a recipe of docs/recipes.md.

use std::sync::Barrier;
use std::thread;

use chrono::{Days, NaiveDate};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::dsl::{compact, put_back, set_counter, take};
use diesel_counters::prelude::*;
use diesel_counters::{Retry, retry};

use crate::behaviour::day;
use crate::{Conn, IS_MYSQL, TestDatabase, write_transaction};

diesel_counters_tests::counter_table!(
    call_quotas (on_day -> Date, user_id -> BigInt) (remaining) { period = Total, stock = (remaining) }
);
use call_quotas::remaining;

/// As `generate migration` writes it.
const TABLE: &str = "CREATE TABLE call_quotas (
    on_day DATE NOT NULL, user_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0), PRIMARY KEY (on_day, user_id, day, slot)
)";

const QUOTA: i64 = 100;
const CLIENTS: i64 = 20;

/// The function of the recipe.
fn may_call(user: i64, today: NaiveDate, conn: &mut Conn) -> QueryResult<bool> {
    use call_quotas::{day, on_day, slot, user_id};
    let call = take(remaining).of((today, user));
    if call.clone().execute(conn)? {
        return Ok(true);
    }
    let row = (
        on_day.eq(today),
        user_id.eq(user),
        day.eq(NaiveDate::default()),
        slot.eq(0),
    );
    let insert = diesel::insert_into(call_quotas::table).values((row, remaining.eq(QUOTA)));
    on_conflict_do_nothing!(insert).execute(conn)?;
    call.execute(conn)
}

fn with_table() -> (Conn, TestDatabase) {
    let database = TestDatabase::create();
    let mut conn = database.connect();
    conn.batch_execute(TABLE).unwrap();
    (conn, database)
}

fn left(user: i64, on: NaiveDate, conn: &mut Conn) -> i64 {
    let left = counter_value(remaining).of((on, user)).get_result(conn);
    left.unwrap()
}

const USER: i64 = 7;

/// As often as a busy machine requires.
fn patiently() -> Retry<'static, Error> {
    retry().attempts(1_000)
}

fn is_allowed(today: NaiveDate, conn: &mut Conn) -> bool {
    let may = patiently().run(conn, |conn| may_call(USER, today, conn));
    may.unwrap()
}

/// Each of 20 clients begins when all are connected. Returns how many calls were allowed in all.
fn by_20_clients(database: &TestDatabase, client: impl Fn(i64, &mut Conn) -> i64 + Sync) -> i64 {
    let barrier = Barrier::new(CLIENTS as usize);
    thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|number| {
            let (barrier, client) = (&barrier, &client);
            scope.spawn(move || {
                let conn = &mut database.connect();
                barrier.wait();
                client(number, conn)
            })
        });
        let clients = Vec::from_iter(clients).into_iter();
        clients.map(|client| client.join().unwrap()).sum()
    })
}

/// No row is there when they begin.
#[test]
fn as_many_calls_are_allowed_as_the_quota_on_each_day() {
    let (conn, database) = &mut with_table();
    let today = day(2026, 2, 28);
    for today in [today, today + Days::new(1)] {
        let allowed = by_20_clients(database, |_, conn| {
            let calls = (0..10).map(|_| is_allowed(today, conn));
            calls.map(i64::from).sum()
        });
        assert_eq!((allowed, left(USER, today, conn)), (QUOTA, 0));
    }
    assert_eq!(left(USER, today, conn), 0);
}

#[test]
fn each_call_is_allowed_if_there_are_fewer_than_the_quota() {
    let (conn, database) = &mut with_table();
    let today = day(2026, 3, 1);
    let allowed = by_20_clients(database, |_, conn| {
        let calls = (0..4).map(|_| is_allowed(today, conn));
        calls.map(i64::from).sum()
    });
    assert_eq!((allowed, left(USER, today, conn)), (80, QUOTA - 80));
    for (user, today) in [(USER + 1, today), (USER, today + Days::new(1))] {
        assert_eq!(may_call(user, today, conn), Ok(true));
        assert_eq!(left(user, today, conn), QUOTA - 1);
    }
}

/// Three of four transactions fail, and their calls are free. Each client calls until it may not, half of
/// them on the second day first.
#[test]
fn a_call_that_is_rolled_back_is_not_counted() {
    let (conn, database) = &mut with_table();
    let days = [day(2026, 3, 1), day(2026, 3, 2)];
    let allowed = by_20_clients(database, |client, conn| {
        if IS_MYSQL {
            let level = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
            conn.batch_execute(level).unwrap();
        }
        let mut days = days;
        days.rotate_left(client as usize % 2);
        days.map(|today| calls_until_refused(today, conn))
            .iter()
            .sum()
    });
    assert_eq!(allowed, 2 * QUOTA);
    assert_eq!(days.map(|day| left(USER, day, conn)), [0, 0]);
}

/// Returns how many calls were allowed, and are committed.
fn calls_until_refused(today: NaiveDate, conn: &mut Conn) -> i64 {
    let mut allowed = 0;
    for attempt in 0.. {
        let called = patiently().run(conn, |conn| {
            write_transaction(conn, |conn| match may_call(USER, today, conn)? {
                true if attempt % 4 != 0 => Err(Error::RollbackTransaction),
                may => Ok(may),
            })
        });
        match called {
            Ok(true) => allowed += 1,
            Ok(false) => break,
            Err(error) => assert_eq!(error, Error::RollbackTransaction),
        }
    }
    allowed
}

/// Corrections and merges leave the row that is there if the quota has been given.
#[test]
fn a_quota_that_was_set_is_not_given_again() {
    let (conn, _database) = &mut with_table();
    let today = day(2026, 3, 1);
    let calls = |conn: &mut Conn| [(); 3].map(|()| may_call(USER, today, conn).unwrap());
    let set = set_counter(remaining).of((today, USER)).to(2);
    assert_eq!(set.execute(conn), Ok(0));
    assert_eq!(calls(conn), [true, true, false]);
    let more = put_back(remaining).of((today, USER)).by(2);
    more.execute(conn).unwrap();
    assert_eq!(compact(call_quotas::table).execute(conn).unwrap().left, 0);
    assert_eq!(calls(conn), [true, true, false]);
}

#[test]
fn old_days_are_deleted() {
    let (conn, _database) = &mut with_table();
    let today = day(2026, 3, 1);
    for ago in 0..3 {
        assert_eq!(may_call(USER, today - Days::new(ago), conn), Ok(true));
    }
    let old = call_quotas::table.filter(call_quotas::on_day.lt(today));
    assert_eq!(diesel::delete(old).execute(conn), Ok(2));
    assert_eq!(left(USER, today, conn), QUOTA - 1);
}
