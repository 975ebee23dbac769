//! Whether there are too few slots: a guess from the rows that are stored.

use anyhow::Result;
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Nullable, SmallInt, Text};

use super::fault::Fault;
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::entity;
use crate::sql::{quoted, sql};

/// How many of the last days that have rows are looked at.
const DAYS: i64 = 7;

/// From so many on nothing is said.
const MANY: i64 = 8;

#[derive(QueryableByName)]
struct Day {
    #[diesel(sql_type = Date)]
    day: NaiveDate,
}

#[derive(QueryableByName)]
struct Slot {
    #[diesel(sql_type = SmallInt)]
    slot: i16,
}

#[derive(QueryableByName)]
struct Busiest {
    #[diesel(sql_type = Nullable<Text>, column_name = "key_as_text")]
    entity: Option<String>,
    #[diesel(sql_type = Date)]
    day: NaiveDate,
    #[diesel(sql_type = BigInt)]
    slots: i64,
}

/// Writers use the slots from 1 on, so with few of them the busiest entity has rows in
/// every one that there is.
pub fn too_few(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let dialect = conn.dialect();
    let table = counters.sql_name(dialect);
    let [day, slot] = [&counters.day, &counters.slot].map(|column| quoted(dialect, &column.name));

    let days: Vec<Day> = sql(format!(
        "SELECT DISTINCT {day} AS day FROM {table} WHERE {slot} > 0 ORDER BY 1 DESC LIMIT "
    ))
    .bind(DAYS)
    .load(conn)?;
    let Some(first) = days.last().map(|row| row.day) else {
        return Ok(None);
    };
    let highest: Slot = sql(format!(
        "SELECT {slot} AS slot FROM {table} WHERE {day} >= "
    ))
    .bind(first)
    .sql(format!(" ORDER BY {slot} DESC LIMIT 1"))
    .get_result(conn)?;
    let key = counters.entity.as_ref();
    let group = key.map_or(String::new(), |key| quoted(dialect, &key.name) + ", ");
    let busiest: Busiest = sql(format!(
        "SELECT {} AS key_as_text, {day} AS day, COUNT(*) AS slots FROM {table} WHERE {slot} > 0 AND {day} >= ",
        key.map_or("NULL".to_owned(), |key| entity::as_text(dialect, key)),
    ))
    .bind(first)
    .sql(format!(" GROUP BY {group}{day} ORDER BY 3 DESC, {group}{day} DESC LIMIT 1"))
    .get_result(conn)?;

    let slots = busiest.slots;
    if slots >= MANY || slots != i64::from(highest.slot) {
        return Ok(None);
    }
    let of = match (&busiest.entity, key) {
        (Some(entity), Some(key)) => format!("{} {entity} on {}", key.name, busiest.day),
        _ => busiest.day.to_string(),
    };
    let what = match slots {
        1 => format!("All that was counted since {first} is in slot 1."),
        _ => format!(
            "{of} has rows in each of the slots 1 to {slots}, and there is no higher slot since {first}."
        ),
    };
    Ok(Some(
        Fault::hint(
            "few_slots",
            what,
            "This is a guess from what is stored. If there are no more slots than that, and more \
             connections count at once, they wait for each other.",
        )
        .remedy(
            "Use as many slots as connections that count, the size of the pool times the number of \
             processes: #[counters(slots = …)], which defaults to 32. No row has to be changed.",
        ),
    ))
}
