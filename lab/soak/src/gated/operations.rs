//! Runs the operations on a connection.

use std::fmt::Debug;

use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Text};
use diesel_counters::__private::write_once;
use diesel_counters::dsl::{compact, delete_counters, fold, put_back, recount, set_counter, take};
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, Drift, Period, counting_transaction};

use super::planted_locks;
use super::{Conn, counting, like, planted, write};
use crate::interleave::case::Script;
use crate::interleave::operation::{Context, Operation};
use crate::interleave::state::PAST;
use crate::tables::article_counters::dsl::{article_counters, comments as commented, likes, views};
use crate::tables::label_counters::dsl::{given, label_counters};
use crate::tables::tickets::dsl::{remaining, tickets};
use crate::tables::{
    self, Article, Label, added, article_likes, articles, comments, day, like_counters, today,
};

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
    let one = Article { id: 1 };
    let amount = amount(connection);
    let own_id = 10 + connection as i64;
    let to = 1_000 * amount;
    let in_total = comments::table
        .group_by(comments::article_id)
        .select((comments::article_id, count_star()));
    let by_day = comments::table
        .group_by((comments::article_id, comments::day))
        .select((comments::article_id, comments::day, count_star()));
    let label = Label {
        article_id: 1,
        label: "a",
    };
    // A comment counts as 300, which label a has in some of the starting states.
    let of_labels = comments::table.group_by(comments::article_id).select((
        comments::article_id,
        sql::<Text>("'a'"),
        sql::<BigInt>("COUNT(*) * 300"),
    ));
    match operation {
        Operation::Increment | Operation::PlantedLoss => {
            nothing(one.incr_counter_by(views, amount, conn))
        }
        Operation::Many => {
            let amounts = [(1_i64, amount), (2, amount)];
            nothing(increment(views).of_many(amounts).execute(conn))
        }
        Operation::Past => {
            let count = increment(views).of(1_i64).by(amount);
            nothing(count.on(day(PAST)).execute(conn))
        }
        Operation::CountingTransaction => nothing(counting_transaction(conn, |tx| {
            tx.count(increment(views).of(1_i64).by(amount));
            tx.count(increment(views).of(2_i64).by(amount));
            QueryResult::Ok(())
        })),
        Operation::Counting => nothing(counting(own_id, conn)),
        Operation::Comment => {
            comment(own_id, conn)?;
            nothing(one.incr_counter(commented, conn))
        }
        Operation::Uncomment => {
            let rows = diesel::delete(comments::table.find(1_i64)).execute(conn)?;
            if rows == 1 {
                one.incr_counter_by(commented, -1, conn)?;
            }
            returned(Ok(rows))
        }
        Operation::CountThenSet if transaction == 0 => {
            nothing(one.incr_counter_by(views, amount, conn))
        }
        Operation::Set | Operation::CountThenSet => {
            returned(set_counter(views).of(&one).to(to).execute(conn))
        }
        Operation::SetDay => {
            let set = set_counter(views).of(1_i64).on(day(0)).to(to);
            returned(set.execute(conn))
        }
        Operation::SetDays => {
            let days = [day(0), day(PAST)].into_iter();
            let counts = days.flat_map(|day| [(1_i64, day, to), (2, day, to)]);
            returned(set_counter(views).of_days(counts).execute(conn))
        }
        Operation::Recount => difference(recount(commented, in_total).of(&one).execute(conn)),
        Operation::RecountByDay => difference(recount(commented, by_day).of(&one).execute(conn)),
        Operation::RecountLikes => {
            let rows = article_likes::table
                .group_by(article_likes::article_id)
                .select((article_likes::article_id, count_star()));
            difference(recount(likes, rows).of(&one).execute(conn))
        }
        Operation::SetLikes => {
            let set = set_counter(like_counters::likes).of(1_i64).to(to);
            returned(set.execute(conn))
        }
        Operation::RecountAll => returned(recount(commented, in_total).execute::<i64, _>(conn)),
        Operation::RecountAllByDay => returned(recount(commented, by_day).execute::<i64, _>(conn)),
        Operation::Delete => returned(delete_counters(article_counters).of(&one).execute(conn)),
        Operation::DeleteMany => {
            let delete = delete_counters(article_counters).of_many(&[1_i64, 2]);
            returned(delete.execute(conn))
        }
        Operation::Compact => {
            let merge = compact(article_counters).before(tables::compacted_before());
            returned(merge.execute(conn))
        }
        Operation::Fold => {
            let merge = fold(article_counters).before(tables::folded_before());
            returned(merge.execute(conn))
        }
        Operation::FoldMonths => {
            let months = fold(article_counters).per(Period::Month);
            returned(months.before(tables::folded_before()).execute(conn))
        }
        Operation::Materialize => {
            returned(Article::materialize(views, articles::total_views).execute(conn))
        }
        Operation::Like => returned(like(1, own_id, conn)),
        Operation::MoveLikes => {
            let rows = article_likes::table.filter(article_likes::article_id.eq(1));
            let rows = diesel::update(rows).set(article_likes::article_id.eq(2));
            returned(rows.execute(conn))
        }
        Operation::Unlike => {
            let rows = article_likes::table.filter(article_likes::article_id.eq(1));
            returned(diesel::delete(rows).execute(conn))
        }
        Operation::TruncateLikes => nothing(conn.batch_execute("TRUNCATE article_likes")),
        Operation::DeleteArticle => {
            returned(diesel::delete(articles::table.find(1_i64)).execute(conn))
        }
        Operation::ReplaceArticle => {
            let rows = diesel::delete(articles::table.find(1_i64)).execute(conn)?;
            diesel::insert_into(articles::table)
                .values((articles::id.eq(1_i64), articles::total_views.eq(0)))
                .execute(conn)?;
            returned(Ok(rows))
        }
        Operation::Buffer => {
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
        Operation::RecountTriggers | Operation::RecountColumn => nothing(Ok(())),
        Operation::Label => nothing(label.incr_counter_by(given, amount, conn)),
        Operation::ManyLabels => {
            let amounts = [((1_i64, "a"), amount), ((1, "b"), amount)];
            nothing(increment(given).of_many(amounts).execute(conn))
        }
        Operation::SetLabel => returned(set_counter(given).of(&label).to(to).execute(conn)),
        Operation::DeleteLabel => {
            returned(delete_counters(label_counters).of(&label).execute(conn))
        }
        Operation::DeleteLabels => {
            returned(delete_counters(label_counters).of(1_i64).execute(conn))
        }
        Operation::RecountLabel => {
            let corrected = recount(given, of_labels).of(&label);
            let corrected = corrected.execute::<(i64, String), _>(conn);
            returned(corrected.map(|drift| added(&drift)))
        }
        Operation::RecountLabels => {
            let corrected = recount(given, of_labels).of(1_i64);
            returned(corrected.execute::<(i64, String), _>(conn))
        }
        Operation::CompactLabels => {
            let merge = compact(label_counters).before(tables::compacted_before());
            returned(merge.execute(conn))
        }
        Operation::Take => returned(take(remaining).of(1_i64).by(2).execute(conn)),
        Operation::PutBack => nothing(put_back(remaining).of(1_i64).execute(conn)),
        Operation::Exchange => {
            put_back(remaining).of(1_i64).by(2).execute(conn)?;
            returned(take(remaining).of(1_i64).by(2).execute(conn))
        }
        Operation::SetStock => returned(set_counter(remaining).of(1_i64).to(5).execute(conn)),
        Operation::DeleteStock => returned(delete_counters(tickets).of(1_i64).execute(conn)),
        Operation::CompactStock => returned(compact(tickets).execute(conn)),
        Operation::PlantedCommandRecount => planted_locks::command_recount(conn),
        Operation::PlantedCountThenSet if transaction == 0 => {
            nothing(planted::add(1, today(), [0, amount, 0], conn))
        }
        Operation::PlantedSet | Operation::PlantedCountThenSet => planted_locks::set(to, conn),
        Operation::PlantedDelete => planted_locks::delete(conn),
        Operation::PlantedCompact => nothing(write(conn, planted::merge_without_locks)),
        Operation::PlantedRecount => nothing(planted::recount_deletes_first(1, conn)),
        Operation::PlantedRecountWithoutALock => nothing(planted::recount_without_a_lock(1, conn)),
        Operation::PlantedDeleteInOneStatement => {
            nothing(planted::delete_in_one_statement(1, conn))
        }
        Operation::PlantedComment => {
            one.incr_counter(commented, conn)?;
            nothing(write(conn, |conn| comment(own_id, conn)))
        }
    }
}

/// An empty text, for a call whose value is not compared.
fn nothing<T>(result: QueryResult<T>) -> QueryResult<String> {
    result.map(|_| String::new())
}

/// The text of the value that a call returned.
fn returned<T: Debug>(result: QueryResult<T>) -> QueryResult<String> {
    result.map(|value| format!("{value:?}"))
}

/// The text of what a recount of one entity added.
fn difference(corrected: QueryResult<Vec<Drift<i64>>>) -> QueryResult<String> {
    returned(corrected.map(|drift| added(&drift)))
}

/// Inserts a comment of article 1 today.
fn comment(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    let own = (comments::id.eq(id), comments::day.eq(today()));
    diesel::insert_into(comments::table)
        .values((comments::article_id.eq(1_i64), own))
        .execute(conn)
}
