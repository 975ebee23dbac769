//! Runs the operations.

use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Text};
use diesel_counters::__private::write_once;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, Period, counting_transaction};

use super::planted_locks;
use super::{Conn, counting, like, planted, truncate_likes, write};
use crate::interleave::case::Script;
use crate::interleave::operation::{Context, Operation};
use crate::interleave::state::PAST;
use crate::tables::article_counters::dsl::{article_counters, comments as commented, likes, views};
use crate::tables::label_counters::dsl::{given, label_counters};
use crate::tables::{
    self, Article, Label, added, article_likes, articles, comments, day, like_counters, today,
};

/// What a connection adds, so that it is known from a sum who has counted.
fn amount(connection: usize) -> i64 {
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
    // One row of the starting states is as many.
    let of_labels = comments::table.group_by(comments::article_id).select((
        comments::article_id,
        sql::<Text>("'a'"),
        sql::<BigInt>("COUNT(*) * 300"),
    ));
    let of_one = |conn: &mut Conn| {
        let rows = article_likes::table.filter(article_likes::article_id.eq(1));
        diesel::delete(rows).execute(conn)
    };
    let nothing = || Ok(String::new());
    match operation {
        Operation::Increment | Operation::PlantedLoss => {
            one.incr_counter_by(views, amount, conn)?;
            nothing()
        }
        Operation::Many => {
            let amounts = [(1_i64, amount), (2, amount)];
            increment(views).of_many(amounts).execute(conn)?;
            nothing()
        }
        Operation::Past => {
            let count = increment(views).of(1_i64).by(amount);
            count.on(day(PAST)).execute(conn)?;
            nothing()
        }
        Operation::CountingTransaction => counting_transaction(conn, |tx| {
            tx.count(increment(views).of(1_i64).by(amount));
            tx.count(increment(views).of(2_i64).by(amount));
            nothing()
        }),
        Operation::Counting => {
            counting(own_id, conn)?;
            nothing()
        }
        Operation::Comment => {
            comment(own_id, conn)?;
            one.incr_counter(commented, conn)?;
            nothing()
        }
        Operation::Uncomment => {
            let rows = diesel::delete(comments::table.find(1_i64)).execute(conn)?;
            if rows == 1 {
                one.incr_counter_by(commented, -1, conn)?;
            }
            Ok(rows.to_string())
        }
        Operation::Set => {
            let set = set_counter(views).of(&one).to(to);
            Ok(set.execute(conn)?.to_string())
        }
        Operation::SetDay => {
            let set = set_counter(views).of(1_i64).on(day(0)).to(to);
            Ok(set.execute(conn)?.to_string())
        }
        Operation::SetDays => {
            let days = [day(0), day(PAST)].into_iter();
            let counts = days.flat_map(|day| [(1_i64, day, to), (2, day, to)]);
            let set = set_counter(views).of_days(counts).execute(conn)?;
            Ok(set.to_string())
        }
        Operation::CountThenSet => match transaction {
            0 => {
                one.incr_counter_by(views, amount, conn)?;
                nothing()
            }
            _ => {
                let set = set_counter(views).of(&one).to(to);
                Ok(set.execute(conn)?.to_string())
            }
        },
        Operation::Recount => {
            let corrected = recount(commented, in_total).of(&one);
            Ok(added(&corrected.execute::<i64, _>(conn)?).to_string())
        }
        Operation::RecountByDay => {
            let corrected = recount(commented, by_day).of(&one);
            Ok(added(&corrected.execute::<i64, _>(conn)?).to_string())
        }
        Operation::RecountLikes => {
            let rows = article_likes::table
                .group_by(article_likes::article_id)
                .select((article_likes::article_id, count_star()));
            let corrected = recount(likes, rows).of(&one);
            Ok(added(&corrected.execute::<i64, _>(conn)?).to_string())
        }
        Operation::SetLikes => {
            let set = set_counter(like_counters::likes).of(1_i64).to(to);
            Ok(set.execute(conn)?.to_string())
        }
        Operation::RecountAll => {
            let drift: Vec<diesel_counters::Drift<i64>> =
                recount(commented, in_total).execute(conn)?;
            Ok(format!("{drift:?}"))
        }
        Operation::RecountAllByDay => {
            let drift: Vec<diesel_counters::Drift<i64>> =
                recount(commented, by_day).execute(conn)?;
            Ok(format!("{drift:?}"))
        }
        Operation::Delete => Ok(delete_counters(article_counters)
            .of(&one)
            .execute(conn)?
            .to_string()),
        Operation::DeleteMany => Ok(delete_counters(article_counters)
            .of_many(&[1_i64, 2])
            .execute(conn)?
            .to_string()),
        Operation::Compact => {
            let merged = compact(article_counters).before(tables::compacted_before());
            Ok(format!("{:?}", merged.execute(conn)?))
        }
        Operation::Fold => {
            let merged = fold(article_counters).before(tables::folded_before());
            Ok(format!("{:?}", merged.execute(conn)?))
        }
        Operation::FoldMonths => {
            let months = fold(article_counters).per(Period::Month);
            let merged = months.before(tables::folded_before());
            Ok(format!("{:?}", merged.execute(conn)?))
        }
        Operation::Materialize => {
            let copied = Article::materialize(views, articles::total_views).execute(conn)?;
            Ok(format!("{copied:?}"))
        }
        Operation::Like => Ok(like(1, own_id, conn)?.to_string()),
        Operation::MoveLikes => {
            let rows = article_likes::table.filter(article_likes::article_id.eq(1));
            let rows = diesel::update(rows).set(article_likes::article_id.eq(2));
            Ok(rows.execute(conn)?.to_string())
        }
        Operation::Unlike => Ok(of_one(conn)?.to_string()),
        Operation::TruncateLikes => {
            truncate_likes(conn)?;
            nothing()
        }
        Operation::DeleteArticle => {
            let rows = diesel::delete(articles::table.find(1_i64)).execute(conn)?;
            Ok(rows.to_string())
        }
        Operation::ReplaceArticle => {
            let rows = diesel::delete(articles::table.find(1_i64)).execute(conn)?;
            diesel::insert_into(articles::table)
                .values((articles::id.eq(1_i64), articles::total_views.eq(0)))
                .execute(conn)?;
            Ok(rows.to_string())
        }
        Operation::Buffer => {
            let amounts = [(1_i64, amount), (2, amount)];
            let write = write_once(increment(views).of_many(amounts), conn);
            match (write.error, write.refused.into_iter().next()) {
                (Some(BackgroundError::Database(error)), _) => Err(error),
                (Some(error), _) => Err(Error::QueryBuilderError(error.into())),
                (None, Some(refused)) => Err(refused.error),
                (None, None) => nothing(),
            }
        }
        // They read the definitions once for a connection.
        Operation::RecountTriggers | Operation::RecountColumn => nothing(),
        Operation::Label => {
            label.incr_counter_by(given, amount, conn)?;
            nothing()
        }
        Operation::ManyLabels => {
            let amounts = [((1_i64, "a"), amount), ((1, "b"), amount)];
            increment(given).of_many(amounts).execute(conn)?;
            nothing()
        }
        Operation::SetLabel => {
            let set = set_counter(given).of(&label).to(to);
            Ok(set.execute(conn)?.to_string())
        }
        Operation::DeleteLabel => Ok(delete_counters(label_counters)
            .of(&label)
            .execute(conn)?
            .to_string()),
        Operation::DeleteLabels => {
            let removed = delete_counters(label_counters).of(1_i64);
            Ok(removed.execute(conn)?.to_string())
        }
        Operation::RecountLabel => {
            let corrected = recount(given, of_labels).of(&label);
            Ok(added(&corrected.execute::<(i64, String), _>(conn)?).to_string())
        }
        Operation::RecountLabels => {
            let drift: Vec<diesel_counters::Drift<(i64, String)>> =
                recount(given, of_labels).of(1_i64).execute(conn)?;
            Ok(format!("{drift:?}"))
        }
        Operation::CompactLabels => {
            let merged = compact(label_counters).before(tables::compacted_before());
            Ok(format!("{:?}", merged.execute(conn)?))
        }
        Operation::PlantedCommandRecount => planted_locks::command_recount(conn),
        Operation::PlantedSet => planted_locks::set(to, conn),
        Operation::PlantedCountThenSet => match transaction {
            0 => {
                planted_locks::add(today(), amount, conn)?;
                nothing()
            }
            _ => planted_locks::set(to, conn),
        },
        Operation::PlantedDelete => planted_locks::delete(conn),
        Operation::PlantedCompact => {
            write(conn, planted::merge_without_locks)?;
            nothing()
        }
        Operation::PlantedRecount => {
            planted::recount_deletes_first(1, conn)?;
            nothing()
        }
        Operation::PlantedRecountWithoutALock => {
            planted::recount_without_a_lock(1, conn)?;
            nothing()
        }
        Operation::PlantedDeleteInOneStatement => {
            planted::delete_in_one_statement(1, conn)?;
            nothing()
        }
        Operation::PlantedComment => {
            one.incr_counter(commented, conn)?;
            write(conn, |conn| comment(own_id, conn))?;
            nothing()
        }
    }
}

fn comment(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    let own = (comments::id.eq(id), comments::day.eq(today()));
    diesel::insert_into(comments::table)
        .values((comments::article_id.eq(1_i64), own))
        .execute(conn)
}
