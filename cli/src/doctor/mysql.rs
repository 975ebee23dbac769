//! Reads the waits from the views of MySQL and MariaDB.

use anyhow::Result;
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{Bool, Text};

use super::wait::{LockWait, Look, Wait};
use crate::catalogue::{Kind, Parent};
use crate::sql::{Sql, sql};

/// The locks that transactions wait for. MariaDB still has the views that MySQL 8 moved elsewhere.
const MYSQL_LOCKS: &str = "
    (SELECT requesting_engine_transaction_id AS waiter, blocking_engine_transaction_id AS holder,
        index_name, lock_data,
        CONCAT('`', REPLACE(l.object_schema, '`', '``'), '`.`', REPLACE(l.object_name, '`', '``'),
            '`') AS lock_table
    FROM performance_schema.data_lock_waits w
    JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id)";

/// MariaDB appends the partition to the table's name.
const MARIADB_LOCKS: &str = "
    (SELECT requesting_trx_id AS waiter, blocking_trx_id AS holder, lock_index AS index_name,
        lock_data, SUBSTRING_INDEX(lock_table, ' /*', 1) AS lock_table
    FROM information_schema.innodb_lock_waits
    JOIN information_schema.innodb_locks ON lock_id = requested_lock_id)";

/// InnoDB's times are in whole seconds and in the system's time zone, not in the session's, which
/// Diesel has set to UTC.
const ROW_WAITS: &str = include_str!("mysql.sql");

pub(super) fn look(look: &mut Look<'_>) -> Result<Vec<Wait>> {
    let counters = look.counters;
    let server = sql("SELECT VERSION() LIKE '%MariaDB%', @@performance_schema");
    let (is_mariadb, is_on): (bool, bool) = server.typed::<(Bool, Bool)>().get_result(look.conn)?;
    if !is_mariadb && !is_on {
        let why = "which sessions wait: start the server with performance_schema = ON";
        look.miss_all(why.to_owned());
        return Ok(Vec::new());
    }
    let locks = if is_mariadb {
        MARIADB_LOCKS
    } else {
        MYSQL_LOCKS
    };
    let table = &counters.table;
    let sql_table = locked_name(&table.in_schema, &table.name);
    let mut rows = allowed(look, is_mariadb, sql(ROW_WAITS.replace("{waits}", locks)))?;
    // They are ordered by session, and a session has a row for every lock that it waits for.
    rows.dedup_by_key(|lock| lock.waiter);
    let kinds: Vec<_> = counters.entity.iter().map(|entity| entity.kind).collect();
    let mut waits = Vec::new();
    for mut lock in rows {
        // The query puts the lock's table into `parent`, whichever table it is.
        let lock_table = lock.parent.take();
        if lock_table.as_ref() == Some(&sql_table) {
            let row = lock.place.as_ref().and_then(|data| lock_row(data, &kinds));
            waits.push(lock.wait(row, counters));
            continue;
        }
        let is_locked = |parent: &&Parent| {
            let name = locked_name(&parent.in_schema, &parent.table);
            lock_table.as_ref() == Some(&name)
        };
        let parent = counters.parents().find(is_locked);
        if parent.is_some() && lock.could_count_in(&[&table.name]) {
            lock.parent = parent.map(|parent| parent.table.clone());
            waits.push(lock.wait(None, counters));
        }
    }
    Ok(waits)
}

/// Writes a table as the query of the locks does.
fn locked_name(schema: &str, table: &str) -> String {
    let [schema, table] = [schema, table].map(|name| name.replace('`', "``"));
    format!("`{schema}`.`{table}`")
}

/// Returns what the query finds, or nothing if the account isn't allowed to run it.
fn allowed(look: &mut Look<'_>, is_mariadb: bool, query: Sql) -> Result<Vec<LockWait>> {
    match query.load(look.conn) {
        Err(Error::DatabaseError(_, why)) if why.message().contains("denied") => {}
        found => return Ok(found?),
    }
    // The host comes after the last @.
    let quoted_account = sql("
        SELECT CONCAT('`', LEFT(account, CHAR_LENGTH(account) - CHAR_LENGTH(host) - 1), '`@`', host, '`')
        FROM (SELECT account, SUBSTRING_INDEX(account, '@', -1) AS host
              FROM (SELECT CAST(CURRENT_USER() AS CHAR) AS account) AS this) AS parts");
    let account: String = quoted_account.typed::<Text>().get_result(look.conn)?;
    let mut grants = format!("GRANT PROCESS ON *.* TO {account};");
    if !is_mariadb {
        grants += &format!(" GRANT SELECT ON performance_schema.* TO {account};");
    }
    look.miss_all(format!("which sessions wait; to see them: {grants}"));
    Ok(Vec::new())
}

/// Reads a row's key as InnoDB prints it: `7, 1037685, 3`.
pub fn lock_row(lock_data: &str, entity: &[Kind]) -> Option<String> {
    // Read from the end, because a text key can have commas in it.
    let mut parts = lock_data.rsplitn(3, ", ");
    let slot: i16 = parts.next()?.trim().parse().ok()?;
    let packed: u32 = parts.next()?.trim().parse().ok()?;
    // A DATE is stored as year, month and day in 15, 4 and 5 bits.
    let year = (packed >> 9) as i32;
    let month = packed >> 5 & 15;
    let day = NaiveDate::from_ymd_opt(year, month, packed & 31)?;
    let entity = match (parts.next(), entity) {
        (Some(key), [Kind::Binary]) => Some(key.strip_prefix("0x")?.to_lowercase()),
        (Some(key), [_]) => {
            let text = key
                .strip_prefix('\'')
                .and_then(|rest| rest.strip_suffix('\''));
            Some(text.map_or(key.to_owned(), |text| text.replace("''", "'")))
        }
        (Some(key), [_, ..]) => Some(key.to_owned()),
        (None, []) => None,
        _ => return None,
    };
    Some(match entity {
        Some(entity) => format!("entity {entity}, day {day}, slot {slot}"),
        None => format!("day {day}, slot {slot}"),
    })
}
