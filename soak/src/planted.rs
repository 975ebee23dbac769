//! The statements of the planted faults.

use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::Drift;
use diesel_counters::dsl::recount;
use diesel_counters::prelude::*;

use super::Conn;
use crate::history::Step;
use crate::tables::article_counters::dsl::{article_counters, article_id, comments, day, views};
use crate::tables::{compacted_before, today};

pub fn merge_without_locks(conn: &mut Conn) -> QueryResult<()> {
    let rows = article_counters
        .filter(
            day.lt(compacted_before())
                .and(crate::tables::article_counters::slot.gt(0_i16)),
        )
        .limit(20)
        .select((
            article_id,
            day,
            crate::tables::article_counters::slot,
            views,
            comments,
        ))
        .load::<(i64, chrono::NaiveDate, i16, i64, i64)>(conn)?;
    for (article, on, slot, v, c) in rows {
        diesel::delete(article_counters.find((article, on, slot))).execute(conn)?;
        add(article, on, 0, v, c, conn)?;
    }
    Ok(())
}

pub fn recount_deletes_first(article: i64, conn: &mut Conn) -> QueryResult<i64> {
    let counts = article_counters
        .filter(article_id.eq(article))
        .select(comments);
    let before: i64 = counts.load::<i64>(conn)?.iter().sum();
    diesel::update(article_counters.filter(article_id.eq(article)))
        .set(comments.eq(0))
        .execute(conn)?;
    let rows: i64 = crate::tables::comments::table
        .filter(crate::tables::comments::article_id.eq(article))
        .count()
        .get_result(conn)?;
    add(article, today(), 0, 0, rows, conn)?;
    Ok(rows - before)
}

pub fn recount_without_a_lock(article: i64, conn: &mut Conn) -> QueryResult<()> {
    let source = crate::tables::comments::table
        .group_by(crate::tables::comments::article_id)
        .select((crate::tables::comments::article_id, count_star()));
    let drift: Vec<Drift<i64>> = recount(comments, source).dry_run(conn)?;
    let drift = drift.iter().find(|drift| drift.entity == article);
    let added = drift.map_or(0, |drift| drift.actual - drift.stored);
    add(article, today(), 0, 0, added, conn)
}

pub fn delete_in_one_statement(article: i64, conn: &mut Conn) -> QueryResult<()> {
    diesel::delete(article_counters.filter(article_id.eq(article)))
        .execute(conn)
        .map(drop)
}

/// Runs the increments of a transaction before it begins.
pub fn count_before(steps: &[Step], conn: &mut Conn) -> QueryResult<()> {
    for step in steps {
        match *step {
            Step::Count {
                article,
                day: on,
                views: amount,
            } => {
                let count = increment(views).of(article).by(amount);
                count.on(crate::tables::day(on)).execute(conn)?;
            }
            Step::Savepoint { ref steps, .. } => count_before(steps, conn)?,
            _ => {}
        }
    }
    Ok(())
}

/// Loses a row that has views.
pub fn lose_a_row(conn: &mut Conn) -> QueryResult<()> {
    let row = article_counters
        .filter(views.ne(0))
        .select((article_id, day, crate::tables::article_counters::slot))
        .first::<(i64, chrono::NaiveDate, i16)>(conn)
        .optional()?;
    match row {
        Some(key) => diesel::delete(article_counters.find(key))
            .execute(conn)
            .map(drop),
        None => Ok(()),
    }
}

fn add(
    article: i64,
    on: chrono::NaiveDate,
    slot: i16,
    v: i64,
    c: i64,
    conn: &mut Conn,
) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "INSERT INTO article_counters (article_id, day, slot, views, likes, comments)
         VALUES ({article}, '{on}', {slot}, {v}, 0, {c}) {}",
        super::ADD_ON_CONFLICT
    ))
}
