//! What the tables have when nothing else runs, read without diesel_counters, and whether a stock
//! can then be sold out.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::take;
use diesel_counters_cli::first_migration;

use super::{Conn, IS_MYSQL, OTHER_SESSIONS, REFERENCE, TIDY};
use crate::record::{CELLS, Cell, Kind, NO_DAY};
use crate::tables::article_counters::dsl as counters;
use crate::tables::{
    self, ARTICLES, article_likes, articles, comments, counted, counted_number, label_counters,
    label_of, number_of, tickets,
};

/// Creates the tables in the database of this URL, and the triggers of `counters.toml`.
pub fn create(conn: &mut Conn, url: &str) -> anyhow::Result<()> {
    let text = if IS_MYSQL {
        "VARCHAR(16) COLLATE utf8mb4_bin"
    } else {
        "TEXT"
    };
    conn.batch_execute(&tables::create(REFERENCE, text))?;
    let triggers = first_migration(url, Path::new(tables::COUNTERS))?;
    Ok(conn.batch_execute(&triggers)?)
}

/// Waits until no other session uses the database.
pub fn wait_until_alone(conn: &mut Conn) -> QueryResult<()> {
    let others = || sql::<BigInt>(&format!("({OTHER_SESSIONS})"));
    while diesel::select(others()).get_result::<i64>(conn)? > 0 {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Reads all cells: the sums of the counters, and the numbers of rows.
pub fn cells(conn: &mut Conn) -> QueryResult<Vec<i64>> {
    let mut cells = vec![0; CELLS];
    let mut add = |article, kind, day, amount| cells[Cell::new(article, kind, day).0] += amount;
    let rows = counters::article_counters.select((
        counters::article_id,
        counters::day,
        counters::views,
        counters::comments,
        counters::likes,
    ));
    for (article, day, views, comments, likes) in
        rows.load::<(i64, NaiveDate, i64, i64, i64)>(conn)?
    {
        add(article, Kind::Views, number_of(day), views);
        add(article, Kind::Comments, number_of(day), comments);
        add(article, Kind::Likes, NO_DAY, likes);
    }
    let rows = comments::table
        .group_by((comments::article_id, comments::day))
        .select((comments::article_id, comments::day, count_star()));
    for (article, day, number) in rows.load::<(i64, NaiveDate, i64)>(conn)? {
        add(article, Kind::CommentRows, number_of(day), number);
    }
    let rows = article_likes::table
        .group_by(article_likes::article_id)
        .select((article_likes::article_id, count_star()));
    for (article, number) in rows.load::<(i64, i64)>(conn)? {
        add(article, Kind::LikeRows, NO_DAY, number);
    }
    let rows = tickets::table.select((tickets::article_id, tickets::remaining));
    for (article, left) in rows.load::<(i64, i64)>(conn)? {
        add(article, Kind::Tickets, NO_DAY, left);
    }
    Ok(cells)
}

/// Compares the views and the tickets with the rows of `counted`, the views by label too, and the
/// likes with their rows. Then takes all tickets. Returns an error that describes the first
/// difference.
pub fn compare(conn: &mut Conn) -> QueryResult<Result<(), String>> {
    let cells = cells(conn)?;
    let row = (counted::article_id, counted::day);
    let rows = counted::table.select((row, counted::views, counted::tickets));
    let mut sums = vec![0; CELLS];
    // By article and label, the views of the transactions less those that are stored.
    let mut labels = BTreeMap::<_, i64>::new();
    for ((article, day), views, units) in rows.load::<((i64, NaiveDate), i64, i64)>(conn)? {
        sums[Cell::new(article, Kind::Tickets, NO_DAY).0] += units;
        sums[Cell::new(article, Kind::Views, number_of(day)).0] += views;
        let number = counted_number(day);
        let label = number.map_or("", label_of);
        *labels.entry((article, label.to_owned())).or_default() += views;
    }
    let by_label = label_counters::table.select((
        label_counters::article_id,
        label_counters::label,
        label_counters::views,
    ));
    for (article, label, views) in by_label.load::<(i64, String, i64)>(conn)? {
        *labels.entry((article, label)).or_default() -= views;
    }
    for article in 1..=ARTICLES {
        for cell in Cell::of(article, Kind::Views).chain(Cell::of(article, Kind::Tickets)) {
            let is = cells[cell.0];
            let counted = sums[cell.0];
            if is != counted {
                return Ok(Err(format!(
                    "{cell}: {is}; the transactions that committed counted {counted}"
                )));
            }
        }
        let of_article = labels.range((article, String::new())..(article + 1, String::new()));
        if let Some(((_, label), lost)) = of_article.clone().find(|(_, lost)| **lost != 0) {
            return Ok(Err(format!(
                "the views of article {article} with the label {label} are {lost} less than the \
                 transactions that committed counted"
            )));
        }
    }
    let likes = compare_rows(&cells, "likes", [Kind::Likes, Kind::LikeRows]);
    Ok(likes.and(sell_out(&cells, conn)?))
}

/// Takes all tickets of each article. A take of one more has to be refused, before and after. No
/// row may have less than 0 tickets.
fn sell_out(cells: &[i64], conn: &mut Conn) -> QueryResult<Result<(), String>> {
    let negative = tickets::table.filter(tickets::remaining.lt(0)).count();
    if negative.get_result::<i64>(conn)? > 0 {
        return Ok(Err("a row has less than no tickets".to_owned()));
    }
    for article in 1..=ARTICLES {
        let left = cells[Cell::new(article, Kind::Tickets, NO_DAY).0];
        for (units, is_left) in [(left + 1, false), (left, true), (1, false)] {
            let take = take(tickets::remaining).of(article).by(units);
            // Nothing can be taken of a stock that is empty.
            if units > 0 && take.execute(conn)? != is_left {
                return Ok(Err(format!(
                    "article {article} has {left} tickets, and a take of {units} of them \
                     returned {}",
                    !is_left
                )));
            }
        }
    }
    Ok(Ok(()))
}

/// Compares the sum of a counter of each article with the number of its rows: the kinds are the
/// counter and the rows.
fn compare_rows(cells: &[i64], name: &str, kinds: [Kind; 2]) -> Result<(), String> {
    for article in 1..=ARTICLES {
        let total = |kind| {
            Cell::of(article, kind)
                .map(|cell| cells[cell.0])
                .sum::<i64>()
        };
        let [counted, rows] = kinds.map(total);
        if counted != rows {
            let found = format!("article {article} has {rows} {name}, but {counted} are counted");
            return Err(found);
        }
    }
    Ok(())
}

/// Compares the comments with their rows. Only for runs without miscounts.
pub fn compare_comments(conn: &mut Conn) -> QueryResult<Result<(), String>> {
    let kinds = [Kind::Comments, Kind::CommentRows];
    Ok(compare_rows(&cells(conn)?, "comments", kinds))
}

/// Empties the tables, except that of the tickets, of which [`compare`] has taken all.
pub fn clear(conn: &mut Conn) -> QueryResult<()> {
    diesel::delete(article_likes::table).execute(conn)?;
    diesel::delete(comments::table).execute(conn)?;
    diesel::delete(counted::table).execute(conn)?;
    diesel::delete(counters::article_counters).execute(conn)?;
    diesel::delete(label_counters::table).execute(conn)?;
    diesel::update(articles::table)
        .set(articles::total_views.eq(0))
        .execute(conn)?;
    conn.batch_execute(TIDY)
}
