//! How the slots of a day are filled.

use anyhow::Result;
use chrono::{NaiveDate, Utc};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Double, Nullable, Text};
use diesel_counters::Dialect;

use super::report::{Busiest, DayOfSlots};
use super::target::Target;
use crate::connection::AnyConnection;
use crate::sql::sql;

#[derive(QueryableByName)]
struct LastDay {
    #[diesel(sql_type = Nullable<Date>)]
    day: Option<NaiveDate>,
}

#[derive(QueryableByName)]
struct Slot {
    #[diesel(sql_type = BigInt)]
    slot: i64,
    #[diesel(sql_type = BigInt)]
    row_count: i64,
    #[diesel(sql_type = Double)]
    counted: f64,
}

#[derive(QueryableByName)]
struct EntityOfDay {
    #[diesel(sql_type = Text)]
    entity: String,
    #[diesel(sql_type = BigInt)]
    entities: i64,
    #[diesel(sql_type = BigInt)]
    row_count: i64,
    #[diesel(sql_type = Double)]
    counted: f64,
    #[diesel(sql_type = Double)]
    fullest: f64,
}

/// Today, and the last day that has rows.
pub fn days(conn: &mut AnyConnection, target: &Target) -> Result<Vec<DayOfSlots>> {
    limit(conn)?;
    let Target { sql_name, day, .. } = target;
    let last: LastDay =
        sql(format!("SELECT MAX({day}) AS day FROM {sql_name}")).get_result(conn)?;
    let mut days = vec![Utc::now().date_naive()];
    days.extend(last.day.filter(|day| !days.contains(day)));
    days.into_iter()
        .map(|day| of_day(day, conn, target))
        .collect()
}

/// The key begins with the entity, so a day is found by reading the whole table: not
/// for long.
fn limit(conn: &mut AnyConnection) -> QueryResult<()> {
    match conn.dialect() {
        Dialect::PostgreSql => conn.batch_execute("SET statement_timeout = '10s'"),
        // The second one is MariaDB's name for it.
        Dialect::MySql => conn
            .batch_execute("SET SESSION max_execution_time = 10000")
            .or_else(|_| conn.batch_execute("SET SESSION max_statement_time = 10")),
        Dialect::Sqlite => Ok(()),
    }
}

fn of_day(day: NaiveDate, conn: &mut AnyConnection, target: &Target) -> Result<DayOfSlots> {
    let Target { sql_name, slot, .. } = target;
    let of_day = || sql(format!("FROM {sql_name} WHERE {} = ", target.day)).bind(day);
    let counted = counted(target);
    let integer = match target.dialect {
        Dialect::MySql => "SIGNED",
        _ => "BIGINT",
    };
    let slots: Vec<Slot> = sql(format!(
        "SELECT CAST({slot} AS {integer}) AS slot, COUNT(*) AS row_count, SUM({counted}) AS counted "
    ))
    .then(of_day())
    .sql(format!(" GROUP BY {slot} ORDER BY counted DESC, slot"))
    .load(conn)?;
    let busiest: Option<EntityOfDay> = match &target.entity {
        None => None,
        Some(entity) => sql(format!(
            "SELECT entity, row_count, counted, fullest, entities FROM (
                SELECT {as_text} AS entity, COUNT(*) AS row_count, SUM({counted}) AS counted,
                    MAX({counted}) AS fullest, COUNT(*) OVER () AS entities ",
            as_text = entity.as_text
        ))
        .then(of_day())
        .sql(format!(
            " GROUP BY {}) e ORDER BY counted DESC, row_count DESC LIMIT 1",
            entity.sql_name
        ))
        .get_result(conn)
        .optional()?,
    };

    let rows = slots.iter().map(|slot| slot.row_count).sum();
    let all: f64 = slots.iter().map(|slot| slot.counted).sum();
    Ok(DayOfSlots {
        day: day.to_string(),
        rows,
        entities: busiest
            .as_ref()
            .map_or(rows.min(1), |busiest| busiest.entities),
        slots_in_use: slots.len() as i64,
        highest_slot: slots.iter().map(|slot| slot.slot).max(),
        fullest_slot: slots.first().map(|slot| slot.slot),
        fullest_share: slots.first().and_then(|slot| share(slot.counted, all)),
        busiest: busiest.map(|busiest| Busiest {
            entity: busiest.entity,
            slots_in_use: busiest.row_count,
            fullest_share: share(busiest.fullest, busiest.counted),
        }),
    })
}

/// What was counted in a row, by all counters; as floating point, which never overflows.
fn counted(target: &Target) -> String {
    let float = match target.dialect {
        Dialect::PostgreSql => "float8",
        Dialect::MySql => "DOUBLE",
        Dialect::Sqlite => "REAL",
    };
    let counters = target.counters.iter();
    let sum: Vec<_> = counters
        .map(|name| format!("ABS(CAST({name} AS {float}))"))
        .collect();
    if sum.is_empty() {
        format!("CAST(0 AS {float})")
    } else {
        sum.join(" + ")
    }
}

fn share(part: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| part / all)
}
