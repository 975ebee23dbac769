//! The figures, as the database counts them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use diesel::deserialize::{self, FromSql};
use diesel::prelude::*;
use diesel::row::{Field, NamedRow};
use diesel::sql_types::{BigInt, Date, Nullable};
use diesel_counters::Dialect;
use serde::Serialize;

use crate::catalogue::{CounterTable, sum};
use crate::connection::{AnyConnection, MultiBackend};
use crate::entity;
use crate::sql::{Sql, quoted, sql};

/// How many rows there are, and of what.
#[derive(Serialize, QueryableByName)]
pub struct Rows {
    #[diesel(sql_type = BigInt, column_name = "row_count")]
    pub rows: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub entities: Option<i64>,
    #[diesel(sql_type = BigInt)]
    pub slots: i64,
    /// But for what is filed without a day.
    #[diesel(sql_type = Nullable<Date>)]
    pub first_day: Option<NaiveDate>,
    #[diesel(sql_type = Nullable<Date>)]
    pub last_day: Option<NaiveDate>,
}

pub fn rows(
    counters: &CounterTable,
    entity: Option<&str>,
    conn: &mut AnyConnection,
) -> Result<Rows> {
    let dialect = conn.dialect();
    let [day, slot] = [&counters.day, &counters.slot].map(|column| quoted(dialect, &column.name));
    let entities = match &counters.entity {
        Some(key) => format!("COUNT(DISTINCT {})", quoted(dialect, &key.name)),
        None => "NULLIF(COUNT(*), COUNT(*))".to_owned(),
    };
    let has_day = |of: &str| {
        sql(format!("{of}(CASE WHEN {day} > "))
            .bind(NaiveDate::default())
            .sql(format!(" THEN {day} END)"))
    };
    let query = sql(format!(
        "SELECT COUNT(*) AS row_count, {entities} AS entities, COUNT(DISTINCT {slot}) AS slots, "
    ))
    .then(has_day("MIN"))
    .sql(" AS first_day, ")
    .then(has_day("MAX"))
    .sql(format!(" AS last_day FROM {}", counters.sql_name(dialect)))
    .then(of_entity(counters, entity, dialect, " WHERE ")?);
    Ok(query.get_result(conn)?)
}

/// Each counter's total, in their order.
pub fn totals(
    counters: &CounterTable,
    entity: Option<&str>,
    conn: &mut AnyConnection,
) -> Result<Vec<i64>> {
    let dialect = conn.dialect();
    if counters.counters.is_empty() {
        return Ok(Vec::new());
    }
    let totals: Sums = sql(format!(
        "SELECT {} FROM {}",
        sums(counters, dialect),
        counters.sql_name(dialect)
    ))
    .then(of_entity(counters, entity, dialect, " WHERE ")?)
    .get_result(conn)?;
    totals.exact(counters)
}

/// Each counter's count of each day, with those that have none.
pub fn series(
    counters: &CounterTable,
    entity: Option<&str>,
    first: NaiveDate,
    last: NaiveDate,
    conn: &mut AnyConnection,
) -> Result<BTreeMap<NaiveDate, Vec<i64>>> {
    let dialect = conn.dialect();
    let nothing = vec![0; counters.counters.len()];
    let mut series: BTreeMap<_, _> = first
        .iter_days()
        .take_while(|day| *day <= last)
        .map(|day| (day, nothing.clone()))
        .collect();
    if counters.counters.is_empty() {
        return Ok(series);
    }
    let day = quoted(dialect, &counters.day.name);
    let counted: Vec<SumsOfDay> = sql(format!(
        "SELECT {}, {day} AS day_of_count FROM {} WHERE {day} >= ",
        sums(counters, dialect),
        counters.sql_name(dialect)
    ))
    .bind(first)
    .sql(format!(" AND {day} <= "))
    .bind(last)
    .then(of_entity(counters, entity, dialect, " AND ")?)
    .sql(format!(" GROUP BY {day}"))
    .load(conn)?;
    for of_day in counted {
        series.insert(of_day.day, of_day.sums.exact(counters)?);
    }
    Ok(series)
}

/// What is in slots other than 0 on days before `until`, but for one row where there is
/// none in slot 0 yet.
pub fn mergeable_rows(
    counters: &CounterTable,
    entity: Option<&str>,
    until: NaiveDate,
    conn: &mut AnyConnection,
) -> Result<i64> {
    #[derive(QueryableByName)]
    struct Mergeable {
        #[diesel(sql_type = BigInt)]
        mergeable: i64,
    }
    let dialect = conn.dialect();
    let [day, slot] = [&counters.day, &counters.slot].map(|column| quoted(dialect, &column.name));
    let group = counters
        .entity
        .as_ref()
        .map_or(String::new(), |key| quoted(dialect, &key.name) + ", ");
    let found: Mergeable = sql(format!(
        "SELECT {} AS mergeable FROM (
             SELECT COUNT(CASE WHEN {slot} <> 0 THEN 1 END) AS spread,
                    COUNT(CASE WHEN {slot} = 0 THEN 1 END) AS merged
             FROM {} WHERE {day} < ",
        sum(
            dialect,
            "CASE WHEN merged = 0 THEN spread - 1 ELSE spread END"
        ),
        counters.sql_name(dialect)
    ))
    .bind(until)
    .then(of_entity(counters, entity, dialect, " AND ")?)
    .sql(format!(" GROUP BY {group}{day}) AS days_of_one"))
    .get_result(conn)?;
    Ok(found.mergeable)
}

fn of_entity(
    counters: &CounterTable,
    entity: Option<&str>,
    dialect: Dialect,
    and: &str,
) -> Result<Sql> {
    Ok(match (entity, &counters.entity) {
        (Some(text), Some(key)) => sql(and).then(entity::equals(dialect, key, text)?),
        _ => Sql::default(),
    })
}

fn sums(counters: &CounterTable, dialect: Dialect) -> String {
    let sums = counters
        .counters
        .iter()
        .map(|column| sum(dialect, &quoted(dialect, &column.name)));
    sums.collect::<Vec<_>>().join(", ")
}

/// As many sums as there are; NULL is one beyond BIGINT.
struct Sums(Vec<Option<i64>>);

impl Sums {
    fn exact(self, counters: &CounterTable) -> Result<Vec<i64>> {
        let named = self.0.into_iter().zip(&counters.counters);
        named
            .map(|(sum, column)| {
                sum.with_context(|| format!("the total of {} is beyond BIGINT", column.name))
            })
            .collect()
    }
}

struct SumsOfDay {
    day: NaiveDate,
    sums: Sums,
}

impl QueryableByName<MultiBackend> for Sums {
    fn build<'a>(row: &impl NamedRow<'a, MultiBackend>) -> deserialize::Result<Self> {
        first_sums(row, row.field_count())
    }
}

impl QueryableByName<MultiBackend> for SumsOfDay {
    fn build<'a>(row: &impl NamedRow<'a, MultiBackend>) -> deserialize::Result<Self> {
        Ok(SumsOfDay {
            day: NamedRow::get::<Date, _>(row, "day_of_count")?,
            sums: first_sums(row, row.field_count() - 1)?,
        })
    }
}

fn first_sums<'a>(
    row: &impl NamedRow<'a, MultiBackend>,
    count: usize,
) -> deserialize::Result<Sums> {
    let sum = |i| {
        let field = diesel::row::Row::get(row, i).ok_or("a sum is missing")?;
        <Option<i64> as FromSql<Nullable<BigInt>, MultiBackend>>::from_nullable_sql(field.value())
    };
    (0..count)
        .map(sum)
        .collect::<deserialize::Result<_>>()
        .map(Sums)
}
