//! Reads the waits from `pg_locks` and `pg_stat_activity`.

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::wait::{LockWait, Look, Wait};
use crate::catalogue::{Column, CounterTable, Kind, Table, table};
use crate::database::{Joined, POSTGRES};
use crate::sql::{sql, sql_with};
use crate::triggers::{TriggerTable, live_triggers};

/// Finds the sessions that wait for the table.
///
/// PostgreSQL shows a session that waits for a row as waiting for the transaction that holds it.
/// Only the second session in a queue may show as waiting for the row itself. So this looks at the
/// sessions that have locked rows of the table and whose statement names the table.
///
/// The first session in the queue has usually locked the row's place (its tuple). It hasn't if the
/// row isn't committed yet, or if the session met the row in an index, as ON CONFLICT does. Then
/// the row may also be one in the parent table that the blocker has locked.
///
/// `waitstart` is read as JSON because PostgreSQL before 14 doesn't have it.
const WAITS: &str = include_str!("postgres.sql");

/// Finds the sessions that wait for rows of the table, or of a table that it refers to.
pub fn look(look: &mut Look<'_>) -> Result<Vec<Wait>> {
    let counters = look.counters;
    let table = POSTGRES.table_name(&counters.table);
    let query = sql_with(WAITS, &[("table", &table)]);
    let mut locks: Vec<LockWait> = query.load(look.conn)?;
    remove_hidden(&mut locks, look)?;
    // They are ordered by session, and a session can have several rows.
    locks.dedup_by_key(|lock| lock.waiter);
    // A session that doesn't count may also wait for the parent's row.
    if !locks.is_empty() {
        let counted = counted_tables(&counters.table, look)?;
        let mut names: Vec<&str> = counted.iter().map(|name| &**name).collect();
        names.push(&counters.table.name);
        locks.retain(|lock| lock.could_count_in(&names));
    }
    let mut waits = Vec::new();
    for lock in locks {
        let row = match &lock.place {
            Some(place) if lock.parent.is_none() => only_row(place, look)?,
            _ => None,
        };
        waits.push(lock.into_wait(row, counters));
    }
    Ok(waits)
}

/// Removes the statements that the user isn't allowed to see, and notes which right that requires.
fn remove_hidden(locks: &mut [LockWait], look: &mut Look<'_>) -> Result<()> {
    let is_hidden = |text: &mut String| text.contains("<insufficient privilege>");
    for lock in locks {
        let hides_statement = lock.statement.take_if(is_hidden).is_some();
        if hides_statement || lock.holder.as_mut().is_some_and(is_hidden) {
            let grant = format!("GRANT pg_read_all_stats TO {};", quoted_user(look)?);
            look.note_not_seen(format!(
                "what other users' sessions do; to see that: {grant}"
            ));
        }
    }
    Ok(())
}

/// Returns the tables on which a trigger names the counter table, and those whose deletions cascade
/// to them: a statement that names one of these can count.
fn counted_tables(counters: &Table, look: &mut Look<'_>) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for live in live_triggers(look.conn)? {
        let TriggerTable { schema, name } = &live.table;
        if !live.body.contains(&counters.name) || names.contains(name) {
            continue;
        }
        if let Ok(rows) = table(look.conn, &format!("{schema}.{name}")) {
            let parents = rows.columns.iter().flat_map(Column::parents);
            names.extend(parents.map(|parent| parent.table.clone()));
            names.push(rows.name);
        }
    }
    Ok(names)
}

/// Returns the row that a session waits for, if it's the only one that meets the condition `place`.
/// There is no index for the rows of a transaction, so after one search took too long, this doesn't
/// try again.
fn only_row(place: &str, look: &mut Look<'_>) -> Result<Option<String>> {
    const WHAT: &str = "which rows the sessions wait for";
    let mut not_seen = look.not_seen.iter();
    let has_failed = not_seen.any(|what_and_why| what_and_why.starts_with(WHAT));
    if has_failed {
        return Ok(None);
    }
    let counters = look.counters;
    // To cast a user-defined type, PostgreSQL runs a function that its owner wrote.
    let is_other = |key: &Column| key.kind == Kind::Other && key.plain_type() != "character";
    if counters.entity.iter().any(is_other) {
        look.note_not_seen(format!(
            "{WHAT}: the key has a type that this command doesn't read"
        ));
        return Ok(None);
    }
    let table = POSTGRES.table_name(&counters.table);
    let row = row_as_text(counters);
    let select = sql(format!("SELECT {row} FROM {table} WHERE {place} LIMIT 2"));
    let found: QueryResult<Vec<String>> = look.conn.transaction(|conn| {
        conn.batch_execute("SET LOCAL statement_timeout = '1s'")?;
        select.typed::<Text>().load(conn)
    });
    let mut rows = match found {
        Ok(rows) => rows,
        Err(error) => {
            let user = quoted_user(look)?;
            let grant = format!("it requires GRANT SELECT ON {table} TO {user};");
            look.note_not_seen(format!("{WHAT}: {error}; {grant}"));
            return Ok(None);
        }
    };
    let row = rows.pop();
    // If there is a second row, we can't tell which one it is.
    Ok(row.filter(|_| rows.is_empty()))
}

/// Returns SQL that reads a row's key as `entity 7, day 2026-01-31, slot 3`.
fn row_as_text(counters: &CounterTable) -> String {
    let day = POSTGRES.quoted(&counters.day.name);
    let slot = POSTGRES.quoted(&counters.slot.name);
    let key = counters.entity.iter().map(|key| POSTGRES.as_text(key));
    let entity = match &*key.joined(", ") {
        "" => String::new(),
        key => format!("'entity ', concat_ws(', ', {key}), ', ', "),
    };
    // A day's own text depends on the session.
    let day_as_text = format!("to_char({day}, 'YYYY-MM-DD')");
    format!("concat({entity}'day ', {day_as_text}, ', slot ', {slot})")
}

/// Returns the name of the current user, with quotes if it needs them.
fn quoted_user(look: &mut Look<'_>) -> QueryResult<String> {
    let user = sql("SELECT quote_ident(current_user)").typed::<Text>();
    user.get_result(look.conn)
}
