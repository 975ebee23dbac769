//! Sums over the rows of a counter table.

use anyhow::Result;
use chrono::NaiveDate;
use diesel::RunQueryDsl;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::row::{Field, NamedRow, Row};
use diesel::sql_types::{BigInt, Date, Nullable, SmallInt, Text};

use crate::catalogue::{Column, CounterTable};
use crate::connection::{AnyConnection, MultiBackend};
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
use crate::sql::{Sql, sql};

/// What sums are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Nothing,
    Entity,
    Day,
    Slot,
}

/// The sums of a group of rows. The numbers of slots and entities, and the days, are of sums that are
/// not grouped. 1970-01-01 does not count as a day.
#[derive(Debug)]
pub struct Sums {
    /// The entity's key as text.
    pub entity: Option<String>,
    pub day: Option<NaiveDate>,
    pub slot: Option<i16>,
    pub rows: i64,
    pub slots: Option<i64>,
    pub entities: Option<i64>,
    pub first_day: Option<NaiveDate>,
    pub last_day: Option<NaiveDate>,
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
    let (day, slot) = (quoted(&table.day), quoted(&table.slot));
    let entity: Vec<String> = table.entity.iter().map(quoted).collect();
    let counted: Vec<String> = counters.into_iter().map(|c| sum(db, &quoted(c))).collect();
    // Without an alias, PostgreSQL would give the key the name of its column, and the `ORDER BY` would
    // use it.
    let key = || format!("{} AS diesel_counters_key", db.key_as_text(&table.entity));
    let (selected, group) = match by {
        By::Nothing => ("NULL, NULL, NULL".to_owned(), String::new()),
        By::Entity => (format!("{}, NULL, NULL", key()), entity.join(", ")),
        By::Day => (format!("NULL, {day}, NULL"), day.clone()),
        By::Slot => (format!("NULL, NULL, {slot}"), slot.clone()),
    };
    // For many groups these would take much longer.
    let extent = match by {
        By::Nothing => extent(db, &entity, &day, &slot),
        _ => "NULL, NULL, NULL, NULL".to_owned(),
    };
    let name = db.table_name(&table.table);
    let mut query = sql(format!(
        "SELECT {selected}, COUNT(*), {extent}, {} FROM {name} WHERE (",
        counted.join(", ")
    ));
    query = query.then(condition.clone()).sql(")");
    let has_days = by == By::Day || days != (None, None);
    // Only where a day is read must each be one that a `NaiveDate` can be.
    if has_days {
        let [first, last] = [(days.0, (1000, 1, 1)), (days.1, (9999, 12, 31))];
        let of = |(day, (year, month, d)): (Option<NaiveDate>, _)| {
            day.or(NaiveDate::from_ymd_opt(year, month, d))
                .unwrap_or_default()
        };
        let between = query.sql(format!(" AND {day} BETWEEN ")).bind(of(first));
        query = between.sql(" AND ").bind(of(last));
    }
    if !group.is_empty() {
        let first = greatest.and(counted.first());
        let greatest_first = first.map_or(String::new(), |sum| format!("{sum} DESC, "));
        query = query.sql(format!(
            " GROUP BY {group} ORDER BY {greatest_first}{group}"
        ));
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

/// The numbers of slots and entities, and the first and the last day.
fn extent(db: Database, entity: &[String], day: &str, slot: &str) -> String {
    let entities = match (db, entity) {
        (_, []) => "NULL".to_owned(),
        (_, [column]) => format!("COUNT(DISTINCT {column})"),
        (POSTGRES, columns) => format!("COUNT(DISTINCT ({}))", columns.join(", ")),
        // The literals of different values are different.
        (SQLITE, columns) => {
            let quoted: Vec<_> = columns
                .iter()
                .map(|column| format!("quote({column})"))
                .collect();
            format!("COUNT(DISTINCT {})", quoted.join(" || ',' || "))
        }
        (_, columns) => format!("COUNT(DISTINCT {})", columns.join(", ")),
    };
    let dated = format!(
        "CASE WHEN {day} <> '1970-01-01' AND {day} BETWEEN '1000-01-01' AND '9999-12-31' THEN {day} END"
    );
    format!("COUNT(DISTINCT {slot}), {entities}, MIN({dated}), MAX({dated})")
}

impl QueryableByName<MultiBackend> for Sums {
    fn build<'a>(row: &impl NamedRow<'a, MultiBackend>) -> deserialize::Result<Self> {
        let number = |i| field::<BigInt, i64>(row, i);
        Ok(Sums {
            entity: field::<Text, _>(row, 0)?,
            day: field::<Date, _>(row, 1)?,
            slot: field::<SmallInt, _>(row, 2)?,
            rows: number(3)?.unwrap_or_default(),
            slots: number(4)?,
            entities: number(5)?,
            first_day: field::<Date, _>(row, 6)?,
            last_day: field::<Date, _>(row, 7)?,
            sums: (8..row.field_count())
                .map(|i| Ok(number(i)?.unwrap_or_default()))
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
