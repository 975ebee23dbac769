//! Counters that never go below 0.

use std::thread;

use diesel::connection::{
    AnsiTransactionManager as Transactions, SimpleConnection, TransactionManager,
};
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::dsl::{claim_slot, put_back, set_counter, take};
use diesel_counters::prelude::*;
use diesel_counters_tests::examples::tickets;
use diesel_counters_tests::watch::watch;

use super::wait_until;
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase, write_transaction};

/// The day of all counts of the table.
const UNDATED: chrono::NaiveDate = chrono::NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();

diesel::table! {
    seats (event_id, day, slot) {
        event_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        free -> BigInt,
    }
}
diesel_counters::counter_table!(seats { period = Total, slots = 1, stock = (free) });

diesel::table! { sales (id) { id -> BigInt, units -> BigInt } }
use tickets::remaining;

#[derive(HasCounters)]
#[counters(table_name = tickets)]
struct Event {
    id: i64,
}

pub const TICKETS: &str = "CREATE TABLE tickets (
    event_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0), PRIMARY KEY (event_id, day, slot)
)";

/// With so many tickets of event 1.
fn with_tickets(number: i64) -> (Conn, TestDatabase) {
    let database = TestDatabase::create();
    let mut conn = database.connect();
    conn.batch_execute(TICKETS).unwrap();
    let set = set_counter(remaining).of(1_i64).to(number);
    assert_eq!(set.execute(&mut conn), Ok(0));
    (conn, database)
}

fn left(conn: &mut Conn) -> i64 {
    counter_value(remaining).of(1_i64).get_result(conn).unwrap()
}

/// What is in each slot that has any.
fn slots(conn: &mut Conn) -> Vec<i64> {
    let rows = tickets::table.filter(remaining.gt(0));
    let rows = rows.order(tickets::slot).select(remaining);
    rows.load(conn).unwrap()
}

#[test]
fn what_is_left_is_taken_and_no_more() {
    let (conn, _database) = &mut with_tickets(5);
    let event = Event { id: 1 };
    assert_eq!(take(remaining).of(&event).by(3).execute(conn), Ok(true));
    assert_eq!(take(remaining).of(1_i64).by(3).execute(conn), Ok(false));
    assert_eq!(take(remaining).of(1_i64).execute(conn), Ok(true));
    assert_eq!(left(conn), 1);
    assert_eq!(take(remaining).of(2_i64).execute(conn), Ok(false));

    put_back(remaining).of(&event).by(2).execute(conn).unwrap();
    assert_eq!(take(remaining).of(1_i64).by(3).execute(conn), Ok(true));
    assert_eq!(left(conn), 0);
    assert_eq!(event.counter_value(remaining, conn), Ok(0));
}

#[test]
fn units_are_taken_in_the_transaction_of_the_caller() {
    let (conn, _database) = &mut with_tickets(5);
    let sold_out: Result<(), Error> = write_transaction(conn, |conn| {
        assert!(take(remaining).of(1_i64).by(5).execute(conn)?);
        assert!(!take(remaining).of(1_i64).execute(conn)?);
        Err(Error::RollbackTransaction)
    });
    assert_eq!(sold_out, Err(Error::RollbackTransaction));
    assert_eq!(left(conn), 5);
}

#[test]
fn no_unit_and_less_than_none_are_refused() {
    let (conn, _database) = &mut with_tickets(5);
    for units in [0, -1] {
        let taken = take(remaining).of(1_i64).by(units).execute(conn);
        let message = "take 1 unit or more; `put_back` adds units";
        assert_eq!(taken.unwrap_err().to_string(), message);
    }
    let set = set_counter(remaining).of(1_i64).to(-1).execute(conn);
    assert_eq!(set.unwrap_err().to_string(), "a stock is 0 or more");
    assert_eq!(left(conn), 5);
}

/// The row has then more units in the snapshot of the statement than in the row that it locks.
#[test]
fn units_are_taken_of_a_row_of_which_others_have_taken_since_the_statement_began() {
    if !HAS_SLOTS || IS_MYSQL {
        return; // Only PostgreSQL's policies can hold a statement.
    }
    let (conn, database) = &mut with_tickets(64);
    let hold = "CREATE FUNCTION waits() RETURNS boolean LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN TRUE; END';
        ALTER TABLE tickets ENABLE ROW LEVEL SECURITY;
        CREATE POLICY waits ON tickets USING (waits());
        GRANT ALL ON tickets TO pg_monitor;
        SELECT pg_advisory_lock(7)";
    conn.batch_execute(hold).unwrap();
    let other = &mut database.connect();
    other.batch_execute("SET ROLE pg_monitor").unwrap();
    let watched = thread::scope(|scope| {
        let take_one = |conn: &mut Conn| {
            let taken = take(remaining).of(1_i64).execute(conn);
            assert_eq!(taken, Ok(true));
        };
        let taking = scope.spawn(move || watch(other, take_one));
        let is_held = wait_until(|| {
            let waits = "EXISTS (SELECT FROM pg_locks WHERE NOT granted AND objid = 7 AND database = \
                         (SELECT oid FROM pg_database WHERE datname = current_database()))";
            let waits = diesel::dsl::sql::<diesel::sql_types::Bool>(waits);
            diesel::select(waits).get_result(conn).unwrap()
        });
        let with_units = tickets::table.filter(remaining.gt(0));
        let others_take = diesel::update(with_units).set(remaining.eq(remaining - 1));
        let taken = others_take.execute(conn);
        conn.batch_execute("SELECT pg_advisory_unlock(7)").unwrap();
        assert!(is_held);
        assert_eq!(taken, Ok(32));
        taking.join().unwrap()
    });
    assert_eq!(watched.queries.len(), 1, "{watched:?}");
    assert_eq!(left(conn), 31);
}

#[test]
fn a_stock_is_spread_over_the_slots() {
    let (conn, _database) = &mut with_tickets(100);
    let expected = match HAS_SLOTS {
        true => [[4; 4].as_slice(), &[3; 28]].concat(),
        false => vec![100],
    };
    assert_eq!(slots(conn), expected);
    let set = |n, conn: &mut Conn| set_counter(remaining).of(1_i64).to(n).execute(conn);
    assert_eq!(set(3, conn), Ok(100));
    assert_eq!(slots(conn), if HAS_SLOTS { vec![1; 3] } else { vec![3] });
    assert_eq!(set(0, conn), Ok(3));
    assert_eq!(slots(conn), []);

    // In one row, as an import may leave it, and of which nobody can take in another transaction.
    put_back(remaining).of(1_i64).by(40).execute(conn).unwrap();
    assert_eq!(slots(conn), [40]);
}

#[test]
fn a_row_has_as_many_units_as_an_i64() {
    let (conn, _database) = &mut with_tickets(0);
    let seats = TICKETS
        .replace("tickets", "seats")
        .replace("remaining", "free");
    conn.batch_execute(&seats).unwrap();
    let set = |n, conn: &mut Conn| set_counter(seats::free).of(1_i64).to(n).execute(conn);
    assert_eq!(set(1, conn), Ok(0));
    assert_eq!(set(i64::MAX, conn), Ok(1));
    assert_eq!(set(i64::MAX - 1, conn), Ok(i64::MAX));
}

#[test]
fn transactions_that_take_do_not_wait_for_each_other() {
    let numbers: &[i64] = if HAS_SLOTS { &[10, 3] } else { &[] };
    for &number in numbers {
        let (conn, database) = &mut with_tickets(number);
        let mut connections: Vec<_> = (0..number).map(|_| database.connect()).collect();
        for conn in &mut connections {
            conn.batch_execute(crate::GIVE_UP_SOON).unwrap();
            Transactions::begin_transaction(conn).unwrap();
            assert_eq!(take(remaining).of(1_i64).execute(conn), Ok(true));
        }
        assert_eq!(left(conn), number);
        drop(connections);
        wait_until(|| take(remaining).of(1_i64).by(number).execute(conn).unwrap());
    }
}

/// A transaction that has read before sees old rows on MySQL and MariaDB.
#[test]
fn units_that_came_later_are_taken() {
    let (conn, database) = &mut with_tickets(0);
    let refused = write_transaction(conn, |conn| {
        assert_eq!(left(conn), 0);
        let other = &mut database.connect();
        if crate::IS_MYSQL {
            // In two rows, of which none has enough.
            for slot in [4, 5] {
                let row = (tickets::event_id.eq(1_i64), tickets::day.eq(UNDATED));
                let row = (row, tickets::slot.eq(slot), remaining.eq(3));
                diesel::insert_into(tickets::table)
                    .values(row)
                    .execute(other)?;
            }
        }
        take(remaining).of(1_i64).by(4).execute(conn)
    });
    // With innodb_snapshot_isolation, it is an error to retry.
    assert!(refused.is_err() || refused == Ok(crate::IS_MYSQL));
}

#[test]
fn units_that_others_hold_are_waited_for() {
    if !HAS_SLOTS {
        return;
    }
    let (holder, database) = &mut with_tickets(4);
    Transactions::begin_transaction(holder).unwrap();
    assert_eq!(take(remaining).of(1_i64).by(3).execute(holder), Ok(true));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let taken = take(remaining)
                .of(1_i64)
                .by(2)
                .execute(&mut database.connect());
            taken.unwrap()
        });
        // It waits, or it comes later: both are right.
        Transactions::rollback_transaction(holder).unwrap();
        assert!(waiting.join().unwrap());
    });
    assert_eq!(left(holder), 2);
}

/// Sixteen clients take ones, twos and threes, and put some back, until nothing is left. The server ends
/// their sessions meanwhile.
#[test]
fn as_many_are_sold_as_there_were() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let set = match (HAS_SLOTS, crate::IS_MYSQL) {
            (false, _) => "PRAGMA busy_timeout = 600000".to_owned(),
            (_, true) => format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
            (_, false) => {
                format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
            }
        };
        let (conn, database) = &mut with_tickets(300);
        conn.batch_execute("CREATE TABLE sales (id BIGINT PRIMARY KEY, units BIGINT NOT NULL)")
            .unwrap();
        thread::scope(|scope| {
            for client in 0..16 {
                let (database, set) = (&*database, &*set);
                scope.spawn(move || sell(client, set, database));
            }
            for sold in [20, 60, 100] {
                let sales = |conn: &mut _| sales::table.count().get_result::<i64>(conn).unwrap();
                assert!(wait_until(|| sales(conn) >= sold));
                crate::kill_others(conn);
            }
        });
        let sold: Vec<i64> = sales::table.select(sales::units).load(conn).unwrap();
        assert_eq!((left(conn), sold.iter().sum()), (0, 300), "{level}");
    }
}

/// Sells until nothing is left. A connection that breaks is replaced.
fn sell(client: i64, set: &str, database: &TestDatabase) {
    let (mut units, mut id) = (1 + client % 3, client * 100_000);
    loop {
        // It can be ended before it is open.
        let Ok(conn) = &mut Conn::establish(&database.url()) else {
            continue;
        };
        let mut sold = conn
            .batch_execute(set)
            .and_then(|()| claim_slot().execute(conn));
        while sold.is_ok() {
            id += 1;
            let back = if id % 7 == 0 { 2 } else { 0 };
            let taken = write_transaction(conn, |conn| {
                if back > 0 {
                    put_back(remaining).of(1_i64).by(back).execute(conn)?;
                }
                let taken = take(remaining).of(1_i64).by(units).execute(conn)?;
                let sale = sales::units.eq(i64::from(taken) * units - back);
                diesel::insert_into(sales::table)
                    .values((sales::id.eq(id), sale))
                    .execute(conn)?;
                QueryResult::Ok(taken)
            });
            match taken {
                Ok(false) if units == 1 && back == 0 => return,
                Ok(false) => units = 1,
                Ok(true) => {}
                Err(error) => sold = Err(error),
            }
        }
    }
}
