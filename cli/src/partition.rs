//! The partition of the slots that a database node writes.

use anyhow::{Context, Result, bail};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use diesel_counters::Slot;

use crate::connection::AnyConnection;
use crate::database::{Database, POSTGRES};
use crate::sql::{sql, sql_with};

/// Reads `1/3`, the second of three partitions.
pub fn parse(text: &str) -> Result<Slot> {
    let number = |text: &str| text.trim().parse().ok();
    let numbers = text
        .split_once('/')
        .and_then(|(index, of)| Some((number(index)?, number(of)?)));
    match numbers {
        // A partition has at least one slot, and a slot is a SMALLINT.
        Some((index, of)) if index < of && of <= 32_767 => Ok(Slot::Partition { index, of }),
        _ => bail!("{text} is not a partition: the three of three nodes are 0/3, 1/3 and 2/3"),
    }
}

/// Makes this partition the setting of the session on PostgreSQL, with which triggers count.
pub fn set(partition: Slot, conn: &mut AnyConnection) -> QueryResult<()> {
    if let (Slot::Partition { index, of }, POSTGRES) = (partition, conn.database()) {
        let set = sql_with(
            "SELECT set_config('diesel_counters.partition', {partition}, false)",
            &[("partition", &format!("{index}/{of}"))],
        );
        set.typed::<Text>().get_result::<String>(conn)?;
    }
    Ok(())
}

/// The partition that the database or the role sets, on PostgreSQL.
pub fn of_database(conn: &mut AnyConnection) -> Result<Option<Slot>> {
    if conn.database() != POSTGRES {
        return Ok(None);
    }
    let setting: QueryResult<Option<String>> = conn.transaction(|conn| {
        // The session can have another one, by `set`.
        sql("SET LOCAL diesel_counters.partition TO DEFAULT").execute(conn)?;
        let setting = sql("SELECT NULLIF(current_setting('diesel_counters.partition', true), '')");
        setting.typed::<Nullable<Text>>().get_result(conn)
    });
    let partition = setting?.as_deref().map(parse).transpose();
    partition.context("cannot read the setting diesel_counters.partition")
}

/// The setting of a PostgreSQL database or role: `1/3` is the second of three partitions.
const PARTITION: &str = "diesel_counters.partition";

/// An SQL expression for the slot of merged rows: on PostgreSQL, that of the partition of the
/// session, which is that of the database or role unless [`set`] has changed it.
pub fn merged_slot(database: Database) -> String {
    if database != POSTGRES {
        return "0".to_owned();
    }
    let setting = format!("NULLIF(current_setting('{PARTITION}', true), '')");
    format!("-CAST(split_part(COALESCE({setting}, '0'), '/', 1) AS SMALLINT)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_one_of_several() {
        let parsed = |text: &str| match parse(text) {
            Ok(Slot::Partition { index, of }) => Some((index, of)),
            _ => None,
        };
        assert_eq!(parsed("0/1"), Some((0, 1)));
        assert_eq!(parsed(" 2 / 3 "), Some((2, 3)));
        for wrong in ["", "1", "1/", "/3", "3/3", "-1/3", "1/2/3", "0/32768"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
