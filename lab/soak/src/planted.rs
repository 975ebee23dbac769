//! The statements of the planted faults: see [`Fault`], and `Planted` of the enumerator.

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::Drift;
use diesel_counters::dsl::recount;
use diesel_counters_tests::map::number;
use diesel_counters_tests::operations::{Operation, PutBack, Run, Take};

use super::{ADD_ON_CONFLICT, Conn};
use crate::fault::Fault;
use crate::history::Step;
use crate::tables::article_counters::dsl::{
    article_counters, article_id, comments, day, slot, views,
};
use crate::tables::tickets::{self, remaining};
use crate::tables::{self, Table, compacted_before, today};

/// Merges slots. Increments of a row between its read and its deletion are lost.
pub fn merge_without_locks(conn: &mut Conn) -> QueryResult<()> {
    let is_to_merge = day.lt(compacted_before()).and(slot.gt(0_i16));
    let rows = article_counters.filter(is_to_merge).limit(20);
    let rows = rows.select((article_id, day, slot, views, comments));
    for (article, on, from, viewed, commented) in
        rows.load::<(i64, NaiveDate, i16, i64, i64)>(conn)?
    {
        diesel::delete(article_counters.find((article, on, from))).execute(conn)?;
        add(article, on, [viewed, 0, commented], conn)?;
    }
    Ok(())
}

/// Recounts comments. A comment that is counted between its statements is counted twice. Returns
/// the difference between the rows and the count that it has read.
pub fn recount_deletes_first(article: i64, conn: &mut Conn) -> QueryResult<i64> {
    let counts = article_counters
        .filter(article_id.eq(article))
        .select(comments);
    let before: i64 = counts.load::<i64>(conn)?.iter().sum();
    diesel::update(article_counters.filter(article_id.eq(article)))
        .set(comments.eq(0))
        .execute(conn)?;
    let rows = tables::comments::table.filter(tables::comments::article_id.eq(article));
    let rows: i64 = rows.count().get_result(conn)?;
    add(article, today(), [0, 0, rows], conn)?;
    Ok(rows - before)
}

/// Recounts comments. Another recount can correct the same difference in between.
pub fn recount_without_a_lock(article: i64, conn: &mut Conn) -> QueryResult<()> {
    let source = tables::comments::table
        .group_by(tables::comments::article_id)
        .select((tables::comments::article_id, count_star()));
    let drift: Vec<Drift<i64>> = recount(comments, source).dry_run(conn)?;
    let drift = drift.iter().find(|drift| drift.entity == article);
    let added = drift.map_or(0, |drift| drift.actual - drift.stored);
    add(article, today(), [0, 0, added], conn)
}

/// Deletes counters. A row that a merge inserts meanwhile stays.
pub fn delete_in_one_statement(article: i64, conn: &mut Conn) -> QueryResult<()> {
    let rows = article_counters.filter(article_id.eq(article));
    diesel::delete(rows).execute(conn).map(drop)
}

/// Runs the increments of a transaction before it begins.
pub fn count_before(steps: &[Step], conn: &mut Conn) -> QueryResult<()> {
    for step in steps {
        match *step {
            Step::Add(ref count @ Operation::Increment(_)) => {
                count.run(Table::ARTICLES, conn)?;
            }
            Step::Savepoint { ref steps, .. } => count_before(steps, conn)?,
            _ => {}
        }
    }
    Ok(())
}

/// Takes tickets, with the fault if it is one of takes. Returns whether they were taken.
pub fn take_tickets(wanted: &Take, fault: Option<Fault>, conn: &mut Conn) -> QueryResult<bool> {
    let Take { of, units } = *wanted;
    let take = |units, conn: &mut Conn| {
        let taken = Take { of, units }.run(Table::Tickets, conn)?;
        Ok(taken == number(1))
    };
    if fault == Some(Fault::TakeRefusesTheLast) {
        let is_taken = take(units + 1, conn)?;
        if is_taken {
            PutBack { of, units: 1 }.run(Table::Tickets, conn)?;
        }
        return Ok(is_taken);
    }
    if fault == Some(Fault::TakeWithoutALock) {
        // A list, so that MySQL's queries are not cached: at SERIALIZABLE they lock, and MariaDB's
        // client hangs if a cached one has failed and is run again.
        let rows = || tickets::table.filter(tickets::article_id.eq_any([of.number]));
        let row = rows()
            .filter(remaining.ge(units))
            .select((tickets::slot, remaining));
        if let Some((number, left)) = row.first::<(i16, i64)>(conn).optional()? {
            let row = diesel::update(rows().filter(tickets::slot.eq(number)));
            row.set(remaining.eq(left - units)).execute(conn)?;
            return Ok(true);
        }
    }
    take(units, conn)
}

/// Deletes a row that has views.
pub fn lose_a_row(conn: &mut Conn) -> QueryResult<()> {
    let rows = article_counters.filter(views.ne(0));
    let keys = rows.select((article_id, day, slot)).limit(1);
    for key in keys.load::<(i64, NaiveDate, i16)>(conn)? {
        diesel::delete(article_counters.find(key)).execute(conn)?;
    }
    Ok(())
}

/// Adds views, likes and comments in slot 0.
pub fn add(
    article: i64,
    on: NaiveDate,
    [viewed, liked, commented]: [i64; 3],
    conn: &mut Conn,
) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "INSERT INTO article_counters (article_id, day, slot, views, likes, comments)
         VALUES ({article}, '{on}', 0, {viewed}, {liked}, {commented}) {ADD_ON_CONFLICT}"
    ))
}
