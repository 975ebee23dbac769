//! The partition of the slots that a database node writes.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::sql_types::{Nullable, Text};
use diesel_counters::{Dialect, Slot};

use crate::connection::AnyConnection;
use crate::sql::sql;

/// Reads `1/3`, the second of three partitions.
pub fn parse(text: &str) -> Result<Slot> {
    let numbers = text
        .split_once('/')
        .and_then(|(index, of)| Some((index.trim().parse().ok()?, of.trim().parse().ok()?)));
    match numbers {
        Some((index, of)) if index < of && of <= 32_767 => Ok(Slot::Partition { index, of }),
        _ => bail!("{text} is not a partition: the three of three nodes are 0/3, 1/3 and 2/3"),
    }
}

/// Returns the partition that is `chosen`, or else the one that the database or the role sets on
/// PostgreSQL. There, it becomes the setting of the session, with which triggers count.
pub fn of_session(chosen: Option<Slot>, conn: &mut AnyConnection) -> Result<Option<Slot>> {
    if conn.dialect() != Dialect::PostgreSql {
        return Ok(chosen);
    }
    if let Some(Slot::Partition { index, of }) = chosen {
        let set = sql("SELECT set_config('diesel_counters.partition', ");
        let set = set.bind(&*format!("{index}/{of}")).sql(", false)");
        set.typed::<Text>().get_result::<String>(conn)?;
    }
    let setting = sql("SELECT NULLIF(current_setting('diesel_counters.partition', true), '')");
    let setting: Option<String> = setting.typed::<Nullable<Text>>().get_result(conn)?;
    let partition = setting.as_deref().map(parse).transpose();
    partition.context("cannot read the setting diesel_counters.partition")
}
