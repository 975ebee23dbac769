//! Sums over the rows of a counter table.

use anyhow::Result;
use chrono::NaiveDate;
use diesel::RunQueryDsl;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::row::{Field, NamedRow, Row};
use diesel::sql_types::{BigInt, Date, Nullable, Text};

use crate::catalogue::{Column, CounterTable};
use crate::connection::{AnyConnection, MultiBackend};
use crate::database::{Database, MYSQL, POSTGRES};
use crate::sql::{Sql, sql};

/// What sums are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Nothing,
    Entity,
    Day,
}

/// The sums of a group of rows.
pub struct Sums {
    /// The entity's key as text.
    pub entity: Option<String>,
    pub day: Option<NaiveDate>,
    pub rows: i64,
    pub sums: Vec<i64>,
}

/// A first and a last day, inclusive.
pub type Days = (Option<NaiveDate>, Option<NaiveDate>);

/// The sums of these counters over the rows for which `condition` is true, in the order of the groups; or
/// only the `greatest` groups by the sum of the first counter.
pub fn sums<'c>(
    table: &CounterTable,
    counters: impl IntoIterator<Item = &'c Column>,
    by: By,
    (condition, days): (&Sql, Days),
    greatest: Option<i64>,
    conn: &mut AnyConnection,
) -> Result<Vec<Sums>> {
    let db = conn.database();
    let quoted = |column: &Column| db.quoted(&column.name);
    let day = quoted(&table.day);
    let entity: Vec<String> = table.entity.iter().map(quoted).collect();
    let counted: Vec<String> = counters.into_iter().map(|c| sum(db, &quoted(c))).collect();
    // Without an alias, PostgreSQL would give the key the name of its column, and the `ORDER BY` would
    // use it.
    let key = db.key_as_text(&table.entity) + " AS diesel_counters_key";
    let (selected, group) = match by {
        By::Nothing => ("NULL, NULL".to_owned(), String::new()),
        By::Entity => (format!("{key}, NULL"), entity.join(", ")),
        By::Day => (format!("NULL, {day}"), day.clone()),
    };
    let (name, counted_in) = (db.table_name(&table.table), counted.join(", "));
    let mut query = sql(format!(
        "SELECT {selected}, COUNT(*), {counted_in} FROM {name} WHERE ("
    ));
    query = query.then(condition.clone()).sql(")");
    // Only where a day is read must each be one that a `NaiveDate` can be.
    if by == By::Day || days != (None, None) {
        let first = days.0.or(NaiveDate::from_ymd_opt(1000, 1, 1));
        let last = days.1.or(NaiveDate::from_ymd_opt(9999, 12, 31));
        query = query.sql(format!(" AND {day} BETWEEN "));
        query = query.bind(first.unwrap_or_default()).sql(" AND ");
        query = query.bind(last.unwrap_or_default());
    }
    if !group.is_empty() {
        let first = greatest.and(counted.first());
        let first = first.map_or(String::new(), |sum| format!("{sum} DESC, "));
        query = query.sql(format!(" GROUP BY {group} ORDER BY {first}{group}"));
    }
    if let Some(n) = greatest {
        query = query.sql(" LIMIT ").bind(n);
    }
    Ok(query.load(conn)?)
}

/// The sum of a counter, as the library reads it.
fn sum(db: Database, counter: &str) -> String {
    let sum = format!("COALESCE(SUM({counter}), 0)");
    match db {
        POSTGRES => format!("CAST({sum} AS BIGINT)"),
        MYSQL => format!("{sum} DIV 1"),
        // SQLite's sum of other values than integers is a REAL.
        _ => format!(
            "CASE typeof({sum}) WHEN 'integer' THEN {sum} ELSE abs(-9223372036854775807 - 1) END"
        ),
    }
}

impl QueryableByName<MultiBackend> for Sums {
    fn build<'a>(row: &impl NamedRow<'a, MultiBackend>) -> deserialize::Result<Self> {
        let number = |i| Ok(field::<BigInt, i64>(row, i)?.unwrap_or_default());
        Ok(Sums {
            entity: field::<Text, _>(row, 0)?,
            day: field::<Date, _>(row, 1)?,
            rows: number(2)?,
            sums: (3..row.field_count())
                .map(number)
                .collect::<deserialize::Result<_>>()?,
        })
    }
}

fn field<'a, ST, T>(
    row: &impl NamedRow<'a, MultiBackend>,
    i: usize,
) -> deserialize::Result<Option<T>>
where
    ST: diesel::sql_types::SqlType<IsNull = diesel::sql_types::is_nullable::NotNull>,
    Option<T>: FromSql<Nullable<ST>, MultiBackend>,
{
    let field = Row::get(row, i).ok_or("a row has too few fields")?;
    Option::<T>::from_nullable_sql(field.value())
}
