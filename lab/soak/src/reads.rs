//! What reads show.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::dsl::total;
use diesel_counters_tests::map::{Returned, Row};
use diesel_counters_tests::operations::{Materialize, Run};

use super::Conn;
use crate::record::{Cell, Kind, Recorded, Seen, Value, now};
use crate::tables::article_counters::dsl::likes;
use crate::tables::{FOLDED, Table, articles, number_of};

/// The values of an operation's rows, which are checked: the views and the comments of articles.
pub fn values(returned: Returned) -> Vec<Value> {
    let values = |(of, on, counts): Row| {
        let article: i64 = of.expect("a row has an article").parse().expect("its id");
        let counts = [Kind::Views, Kind::Comments].into_iter().zip(counts);
        counts.filter_map(move |(kind, value)| match on {
            Some(on) => on_day(article, kind, on, value),
            None => Some(Value::sum(Cell::of(article, kind), value)),
        })
    };
    returned.into_iter().flat_map(values).collect()
}

/// The count of a day, or `None` for a day that can be folded: its count can have moved to another
/// day. These days are checked in the totals.
fn on_day(article: i64, kind: Kind, on: NaiveDate, value: i64) -> Option<Value> {
    let cell = Cell::new(article, kind, number_of(on));
    (number_of(on) < FOLDED).then(|| Value::sum([cell], value))
}

/// Reads the likes of all articles, which triggers count.
pub fn read_likes(conn: &mut Conn) -> QueryResult<Vec<Value>> {
    let rows = articles::table.select((articles::id, total(likes)));
    let rows = rows.load::<(i64, i64)>(conn)?.into_iter();
    Ok(rows
        .map(|(id, liked)| Value::sum(Cell::of(id, Kind::Likes), liked))
        .collect())
}

/// Copies the totals into a column, and reads the column.
pub fn materialized(conn: &mut Conn, recorded: &mut Recorded) -> QueryResult<()> {
    let from = now();
    Materialize.run(Table::ARTICLES, conn)?;
    let rows = articles::table.select((articles::id, articles::total_views));
    let rows: Vec<(i64, i64)> = rows.load(conn)?;
    recorded
        .seen
        .extend(rows.into_iter().map(|(article, value)| {
            let value = Value::sum(Cell::of(article, Kind::Views), value);
            Seen::since(from, vec![value])
        }));
    Ok(())
}
