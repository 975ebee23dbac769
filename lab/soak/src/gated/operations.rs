//! Runs the operations on a connection.

use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::__private::write_once;
use diesel_counters::BackgroundError;
use diesel_counters::dsl::{recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::map::{Returned, Row};
use diesel_counters_tests::operations::{Increment, PutBack, Run, SetCounter, Take};
use diesel_counters_tests::tables::{Entity, Table};

use super::planted_locks;
use super::{Conn, counting, like, planted, write};
use crate::interleave::case::Script;
use crate::interleave::operation::{Context, Operation, Own};
use crate::tables::article_counters::dsl::{comments as commented, likes, views};
use crate::tables::{Article, added, article_likes, articles, comments, like_counters, today};

/// What operations work on.
const ONE: Entity = Entity::new(1, "a");

/// What a connection adds: 1, 10, 100. So a sum says which connections have counted.
pub fn amount(connection: usize) -> i64 {
    10_i64.pow(connection as u32)
}

/// Runs this transaction of a script. Returns what its call returned.
pub fn run(
    script: Script,
    transaction: usize,
    connection: usize,
    conn: &mut Conn,
) -> Result<String, Error> {
    let run = |conn: &mut Conn| operation(script.operation, transaction, connection, conn);
    match script.context {
        Context::Own => run(conn),
        Context::Caller => write(conn, run),
        Context::Read => write(conn, |conn| {
            let _: i64 = Article { id: 1 }.counter_value(views, conn)?;
            run(conn)
        }),
    }
}

fn operation(
    operation: Operation,
    transaction: usize,
    connection: usize,
    conn: &mut Conn,
) -> Result<String, Error> {
    let amount = amount(connection);
    match operation {
        Operation::Own(own) => self::own(own, transaction, connection, conn),
        Operation::Library(_) => {
            let script = operation.script().expect("it is one of the library's");
            library((script.operation)(amount), script.table, conn)
        }
    }
}

/// Runs an operation of the library. Returns the text of what it returned.
fn library(operation: impl Run<Conn>, on: Table, conn: &mut Conn) -> QueryResult<String> {
    operation.run(on, conn).map(text)
}

fn own(own: Own, transaction: usize, connection: usize, conn: &mut Conn) -> Result<String, Error> {
    let one = Article { id: 1 };
    let amount = amount(connection);
    let own_id = 10 + connection as i64;
    let to = 1_000 * amount;
    let count = |by| Increment {
        of: ONE,
        by,
        on: None,
    };
    match own {
        Own::PlantedLoss => library(count([amount, 0]), Table::ARTICLES, conn),
        Own::Counting => nothing(counting(own_id, conn)),
        Own::Comment => {
            comment(own_id, conn)?;
            library(count([0, 1]), Table::ARTICLES, conn)
        }
        Own::Uncomment => {
            let rows = diesel::delete(comments::table.find(1_i64)).execute(conn)?;
            if rows == 1 {
                library(count([0, -1]), Table::ARTICLES, conn)?;
            }
            Ok(rows.to_string())
        }
        Own::CountThenSet if transaction == 0 => library(count([amount, 0]), Table::ARTICLES, conn),
        Own::CountThenSet => {
            let set = SetCounter {
                of: ONE,
                to,
                comments_to: None,
                on: None,
            };
            library(set, Table::ARTICLES, conn)
        }
        // Triggers count this counter.
        Own::RecountLikes => {
            let rows = article_likes::table
                .group_by(article_likes::article_id)
                .select((article_likes::article_id, count_star()));
            let corrected = recount(likes, rows).of(&one).execute::<i64, _>(conn)?;
            Ok(added(&corrected).to_string())
        }
        Own::SetLikes => {
            let set = set_counter(like_counters::likes).of(1_i64).to(to);
            Ok(set.execute(conn)?.to_string())
        }
        Own::Like => returned(like(1, own_id, conn)),
        Own::MoveLikes => {
            let rows = article_likes::table.filter(article_likes::article_id.eq(1));
            let rows = diesel::update(rows).set(article_likes::article_id.eq(2));
            returned(rows.execute(conn))
        }
        Own::Unlike => {
            let rows = article_likes::table.filter(article_likes::article_id.eq(1));
            returned(diesel::delete(rows).execute(conn))
        }
        Own::TruncateLikes => nothing(conn.batch_execute("TRUNCATE article_likes")),
        Own::DeleteArticle => returned(diesel::delete(articles::table.find(1_i64)).execute(conn)),
        Own::ReplaceArticle => {
            let rows = diesel::delete(articles::table.find(1_i64)).execute(conn)?;
            diesel::insert_into(articles::table)
                .values((articles::id.eq(1_i64), articles::total_views.eq(0)))
                .execute(conn)?;
            Ok(rows.to_string())
        }
        Own::Buffer => {
            let amounts = [(1_i64, amount), (2, amount)];
            let write = write_once(increment(views).of_many(amounts), conn);
            match (write.error, write.refused.into_iter().next()) {
                (Some(BackgroundError::Database(error)), _) => Err(error),
                (Some(error), _) => Err(Error::QueryBuilderError(error.into())),
                (None, Some(refused)) => Err(refused.error),
                (None, None) => nothing(Ok(())),
            }
        }
        // `Thread::transaction` runs them, with definitions that are read once.
        Own::RecountTriggers | Own::RecountColumn => nothing(Ok(())),
        Own::Exchange => {
            library(PutBack { of: ONE, units: 2 }, Table::Tickets, conn)?;
            library(Take { of: ONE, units: 2 }, Table::Tickets, conn)
        }
        Own::PlantedCommandRecount => planted_locks::command_recount(conn),
        Own::PlantedCountThenSet if transaction == 0 => {
            nothing(planted::add(1, today(), [0, amount, 0], conn))
        }
        Own::PlantedSet | Own::PlantedCountThenSet => planted_locks::set(to, conn),
        Own::PlantedDelete => planted_locks::delete(conn),
        Own::PlantedCompact => nothing(write(conn, planted::merge_without_locks)),
        Own::PlantedRecount => nothing(planted::recount_deletes_first(1, conn)),
        Own::PlantedRecountWithoutALock => nothing(planted::recount_without_a_lock(1, conn)),
        Own::PlantedDeleteInOneStatement => nothing(planted::delete_in_one_statement(1, conn)),
        Own::PlantedComment => {
            one.incr_counter(commented, conn)?;
            nothing(write(conn, |conn| comment(own_id, conn)))
        }
    }
}

/// The text of what an operation returned.
fn text(returned: Returned) -> String {
    let row = |(of, day, counts): Row| {
        let key = [of, day.map(|day| day.to_string())].into_iter().flatten();
        let counts = counts.iter().map(i64::to_string);
        key.chain(counts).collect::<Vec<_>>().join(" ")
    };
    returned.into_iter().map(row).collect::<Vec<_>>().join(", ")
}

/// An empty text, for a call whose value is not compared.
fn nothing<T>(result: QueryResult<T>) -> QueryResult<String> {
    result.map(|_| String::new())
}

/// The number of rows that a statement of the application has written.
fn returned(rows: QueryResult<usize>) -> QueryResult<String> {
    rows.map(|rows| rows.to_string())
}

/// Inserts a comment of article 1 today.
fn comment(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    let own = (comments::id.eq(id), comments::day.eq(today()));
    diesel::insert_into(comments::table)
        .values((comments::article_id.eq(1_i64), own))
        .execute(conn)
}
