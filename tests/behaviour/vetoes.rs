//! Triggers of the application that skip what is written: an operation then fails, or its counts are exact.

use std::cell::RefCell;

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter, take};
use diesel_counters::prelude::*;
use diesel_counters::{Period, counting_transaction};
use diesel_counters_tests::examples::tickets;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments, likes, views};

use super::compacting::insert_row;
use super::stock::TICKETS;
use super::{article, comments_by_article, day, insert_comment};
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase, write_transaction};

/// The rows that a trigger skips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Veto {
    /// The row is not inserted, and a row with its key is not updated.
    Inserts,
    Updates,
    Deletes,
}

/// Those that the database has.
const VETOES: &[Veto] = if IS_MYSQL {
    &[]
} else {
    &[Veto::Inserts, Veto::Updates, Veto::Deletes]
};

/// The trigger of a table that has these counters.
fn plant(veto: Veto, table: &str, conn: &mut Conn) {
    let event = match veto {
        Veto::Inserts => "INSERT",
        Veto::Updates => "UPDATE",
        Veto::Deletes => "DELETE",
    };
    let trigger = match HAS_SLOTS {
        true => format!(
            "CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
             CREATE TRIGGER veto BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION veto()"
        ),
        false => format!(
            "CREATE TRIGGER veto BEFORE {event} ON {table} FOR EACH ROW
             BEGIN SELECT RAISE(IGNORE); END"
        ),
    };
    conn.batch_execute(&trigger).unwrap();
}

/// The counts of each day and article.
type State = Vec<(i64, NaiveDate, i64, i64, i64)>;

fn state(conn: &mut Conn) -> State {
    let rows = article_counters::table.select((
        article_counters::article_id,
        article_counters::day,
        views,
        likes,
        comments,
    ));
    let mut state = State::new();
    for row in rows
        .order(rows_by_key())
        .load::<(i64, NaiveDate, i64, i64, i64)>(conn)
        .unwrap()
    {
        match state
            .last_mut()
            .filter(|last| (last.0, last.1) == (row.0, row.1))
        {
            Some(last) => {
                last.2 += row.2;
                last.3 += row.3;
                last.4 += row.4;
            }
            None => state.push(row),
        }
    }
    state.retain(|row| (row.2, row.3, row.4) != (0, 0, 0));
    state
}

fn rows_by_key() -> (article_counters::article_id, article_counters::day) {
    (article_counters::article_id, article_counters::day)
}

type Operation = (&'static str, fn(&mut Conn) -> QueryResult<()>);

macro_rules! operations {
    ($conn:ident: $($run:expr;)*) => {
        &[$((stringify!($run), |$conn| $run.map(drop))),*]
    };
}

/// Increments that a program executes itself are not among them: they return 0 rows if one is skipped.
const OPERATIONS: &[Operation] = operations! { conn:
    compact(article_counters::table).execute(conn);
    fold(article_counters::table).before(day(2026, 5, 1)).execute(conn);
    fold(article_counters::table).per(Period::Month).before(day(2026, 5, 1)).execute(conn);
    set_counter(views).of(1_i64).to(0).execute(conn);
    set_counter((views, likes)).of(1_i64).to((7, 8)).execute(conn);
    set_counter(views).of(1_i64).on(day(2026, 3, 1)).to(9).execute(conn);
    set_counter(views).of_days([(1_i64, day(2026, 3, 1), 4), (2, day(2026, 3, 2), 5)]).execute(conn);
    recount(comments, comments_by_article()).execute::<i64, _>(conn);
    recount(comments, comments_by_article()).of(1_i64).execute::<i64, _>(conn);
    delete_counters(article_counters::table).of(1_i64).execute(conn);
    delete_counters(article_counters::table).of_many([1_i64, 2]).execute(conn);
    delete_counters(article_counters::table).of(()).execute(conn);
};

/// Those that add.
const ADDING: &[Operation] = operations! { conn:
    article(1).incr_counter(views, conn);
    article(1).incr_counter_by((views, likes), (2, 1), conn);
    write_transaction(conn, |conn| increment(views).on(day(2026, 3, 1)).of_many([(1_i64, 2), (2, 3)]).execute(conn));
    counting_transaction(conn, |tx| {
        tx.count(increment(likes).of(1_i64).on(day(2026, 3, 1)));
        QueryResult::Ok(())
    });
};

/// Two articles with views in several slots of some days, and more comments than were counted.
fn with_counts() -> (TestDatabase, Conn) {
    let (database, mut conn, _article) = TestDatabase::with_article();
    for id in [1, 2] {
        for slot in if HAS_SLOTS { 0..3 } else { 0..1 } {
            insert_row(id, day(2026, 3, id as u32), slot, (1, 2, 0), &mut conn);
            insert_row(id, day(2026, 4, 1), 1 + slot, (10, 0, 0), &mut conn);
        }
    }
    insert_comment(1, "first", &mut conn).unwrap();
    insert_comment(1, "second", &mut conn).unwrap();
    // A correction adds to a row that is there, and to one that is not.
    increment((views, comments))
        .of(1_i64)
        .by((1, 1))
        .execute(&mut conn)
        .unwrap();
    (database, conn)
}

/// Runs each operation against each veto. It has to fail and change nothing, or to do what it does without
/// the veto.
fn check(vetoes: &[Veto], operations: &[Operation]) {
    let wrong = RefCell::new(Vec::new());
    for (name, run) in operations {
        let (_database, mut conn) = with_counts();
        run(&mut conn).unwrap();
        let expected = state(&mut conn);
        for veto in vetoes {
            let (_database, mut conn) = with_counts();
            let before = state(&mut conn);
            plant(*veto, "article_counters", &mut conn);
            let result = run(&mut conn);
            let after = state(&mut conn);
            let is_right = match &result {
                Ok(()) => after == expected || after == before && is_left(name),
                Err(error) => after == before && error.to_string().contains("article_counters"),
            };
            if !is_right {
                let line = format!("{veto:?}: {name}: {result:?}\n  {before:?}\n  {after:?}");
                wrong.borrow_mut().push(line);
            }
        }
    }
    let wrong = wrong.into_inner();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A merge reports the rows that it has not merged.
fn is_left(name: &str) -> bool {
    name.starts_with("compact") || name.starts_with("fold")
}

#[test]
fn a_merge_or_a_correction_that_a_trigger_prevents_fails() {
    check(VETOES, OPERATIONS);
}

#[test]
fn an_increment_whose_row_a_trigger_skips_fails() {
    check(VETOES, ADDING);
}

#[test]
fn a_stock_that_a_trigger_keeps_is_not_sold_or_set() {
    let operations: &[Operation] = operations! { conn:
        take(tickets::remaining).of(1_i64).execute(conn).map(|taken| assert!(taken));
        take(tickets::remaining).of(1_i64).by(4).execute(conn).map(|taken| assert!(taken));
        take(tickets::remaining).of(1_i64).by(5).execute(conn).map(|taken| assert!(taken));
        set_counter(tickets::remaining).of(1_i64).to(0).execute(conn);
        set_counter(tickets::remaining).of(1_i64).to(9).execute(conn);
    };
    let left = |conn: &mut Conn| -> i64 {
        let left = counter_value(tickets::remaining).of(1_i64);
        left.get_result(conn).unwrap()
    };
    let with_tickets = || {
        let database = TestDatabase::create();
        let mut conn = database.connect();
        conn.batch_execute(TICKETS).unwrap();
        let set = set_counter(tickets::remaining).of(1_i64).to(5);
        set.execute(&mut conn).unwrap();
        (database, conn)
    };
    let mut wrong = Vec::new();
    for (name, run) in operations {
        let (_database, mut conn) = with_tickets();
        run(&mut conn).unwrap();
        let expected = left(&mut conn);
        for veto in VETOES {
            let (_database, mut conn) = with_tickets();
            plant(*veto, "tickets", &mut conn);
            let result = run(&mut conn);
            let after = left(&mut conn);
            let is_right = match &result {
                Ok(()) => after == expected,
                Err(_) => after == 5,
            };
            if !is_right {
                wrong.push(format!("{veto:?}: {name}: {result:?}, {after} left"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_increment_that_is_skipped_returns_0_rows() {
    if IS_MYSQL {
        return;
    }
    let (_database, mut conn) = with_counts();
    plant(Veto::Inserts, "article_counters", &mut conn);
    let skipped = increment(views).of(1_i64).execute(&mut conn);
    assert_eq!(skipped, Ok(0));
    let of_model = Article::incr_counter(&article(1), views, &mut conn).unwrap_err();
    assert!(
        of_model
            .to_string()
            .contains("`diesel-counters check article_counters`")
    );
}
