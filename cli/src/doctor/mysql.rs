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

/// Finds the sessions that wait for rows of the table, or of a table that it refers to.
pub(super) fn look(look: &mut Look<'_>) -> Result<Vec<Wait>> {
    let counters = look.counters;
    let server = sql("SELECT VERSION() LIKE '%MariaDB%', @@performance_schema");
    let (is_mariadb, has_performance_schema): (bool, bool) =
        server.typed::<(Bool, Bool)>().get_result(look.conn)?;
    if !is_mariadb && !has_performance_schema {
        let why = "which sessions wait: start the server with performance_schema = ON";
        look.note_nothing_seen(why.to_owned());
        return Ok(Vec::new());
    }
    let locks_sql = if is_mariadb {
        MARIADB_LOCKS
    } else {
        MYSQL_LOCKS
    };
    let query = sql(ROW_WAITS.replace("{waits}", locks_sql));
    let mut locks = load_if_allowed(query, is_mariadb, look)?;
    // They are ordered by session, and a session has a row for every lock that it waits for.
    locks.dedup_by_key(|lock| lock.waiter);
    let table = &counters.table;
    let key_kinds: Vec<_> = counters.entity.iter().map(|column| column.kind).collect();
    let mut waits = Vec::new();
    for mut lock in locks {
        // The query puts the lock's table into `parent`, whichever table it is.
        let lock_table = lock.parent.take();
        let is_locked =
            |schema: &str, name: &str| lock_table.as_ref() == Some(&locked_name(schema, name));
        if is_locked(&table.in_schema, &table.name) {
            let lock_data = lock.place.as_ref();
            let row = lock_data.and_then(|data| lock_row(data, &key_kinds));
            waits.push(lock.into_wait(row, counters));
            continue;
        }
        let is_locked_parent = |parent: &&Parent| is_locked(&parent.in_schema, &parent.table);
        let parent = counters.parents().find(is_locked_parent);
        if parent.is_some() && lock.could_count_in(&[&table.name]) {
            lock.parent = parent.map(|parent| parent.table.clone());
            let row_of_counters = None;
            waits.push(lock.into_wait(row_of_counters, counters));
        }
    }
    Ok(waits)
}

/// Writes a table's name as the query of the locks does: `` `blog`.`article_counters` ``.
fn locked_name(schema: &str, table: &str) -> String {
    let [schema, table] = [schema, table].map(|name| name.replace('`', "``"));
    format!("`{schema}`.`{table}`")
}

/// Returns the locks that the query finds. If the account isn't allowed to run it, returns none,
/// and notes which rights it lacks.
fn load_if_allowed(query: Sql, is_mariadb: bool, look: &mut Look<'_>) -> Result<Vec<LockWait>> {
    let found: QueryResult<Vec<LockWait>> = query.load(look.conn);
    let is_denied = matches!(&found, Err(Error::DatabaseError(_, why))
        if why.message().contains("denied"));
    if !is_denied {
        return Ok(found?);
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
    look.note_nothing_seen(format!("which sessions wait; to see them: {grants}"));
    Ok(Vec::new())
}

/// Returns `entity 7, day 2026-11-21, slot 3` for a row's key as InnoDB prints it: `7, 1037685, 3`.
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
