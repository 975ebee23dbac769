//! Triggers that count rows on MySQL and MariaDB: one a row.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::Mysql;
use crate::catalogue::{Column, Parent};
use crate::database::{Database, TriggerSql};
use crate::trigger::{Counting, Target, Trigger, in_lines};

pub const SQL: TriggerSql = TriggerSql {
    triggers,
    without_writers,
    not_counted,
    today: "UTC_DATE()",
    undated: "DATE '1970-01-01'",
    days: &[
        ("date", "{}"),
        ("datetime", "DATE({})"),
        // It is read in the time zone of the session, but for this function.
        (
            "timestamp",
            "(DATE '1970-01-01' + INTERVAL UNIX_TIMESTAMP({}) DIV 86400 DAY)",
        ),
    ],
    week: "({} - INTERVAL WEEKDAY({}) DAY)",
    month: "({} - INTERVAL DAYOFMONTH({}) - 1 DAY)",
    year: "({} - INTERVAL DAYOFYEAR({}) - 1 DAY)",
    integer: "SIGNED",
    zoned: Some("timestamp"),
    // A CAST AS SIGNED of a greater number would wrap.
    weight: "COALESCE(CAST({} AS DECIMAL(65, 0)), 0)",
    sum: "SUM({})",
    total: "CAST(SUM({}) AS SIGNED)",
    alias: "",
    on_conflict: "ON DUPLICATE KEY UPDATE",
    update: |name, value| format!("{name} = {name} + {value}"),
    new_value: "VALUES({})",
    is_new_value_of_table: false,
    differs: |new, old| format!("NOT (CAST({new} AS BINARY) <=> CAST({old} AS BINARY))"),
    // A stored column requires that.
    try_expression: [
        "CREATE TEMPORARY TABLE diesel_counters_try AS SELECT * FROM {rows} WHERE 1 = 0",
        "ALTER TABLE diesel_counters_try ADD COLUMN diesel_counters_try VARCHAR(100) AS ({expression}) STORED",
        "DROP TEMPORARY TABLE IF EXISTS diesel_counters_try",
    ],
    keeps_half: true,
    // At READ COMMITTED, an INSERT reads a snapshot of its own, and locks none of the rows.
    before_recount: "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    begin_recount: "DROP TEMPORARY TABLE IF EXISTS diesel_counters_wrong; \
                    CREATE TEMPORARY TABLE diesel_counters_wrong AS {wrong}",
    views: "SELECT CAST(c.table_schema AS CHAR), CAST(c.table_name AS CHAR)
        FROM information_schema.columns c JOIN information_schema.views v
          ON v.table_schema = c.table_schema AND v.table_name = c.table_name
        WHERE c.table_schema = DATABASE() AND c.column_name = ",
    live: "SELECT CAST(event_object_schema AS CHAR), CAST(event_object_table AS CHAR),
            CAST(trigger_name AS CHAR), CONCAT_WS(' ', action_timing, event_manipulation),
            CAST(action_statement AS CHAR), NULL
        FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1, 2, 3",
};

/// The foreign keys of several columns that delete or change rows.
pub const FOREIGN_KEYS: &str = "
    SELECT CAST(r.constraint_name AS CHAR) FROM information_schema.referential_constraints r
    WHERE (r.delete_rule IN ('CASCADE', 'SET NULL') OR r.update_rule IN ('CASCADE', 'SET NULL'))
        AND (SELECT COUNT(*) FROM information_schema.key_column_usage k
            WHERE k.constraint_schema = r.constraint_schema AND k.table_name = r.table_name
                AND k.constraint_name = r.constraint_name) > 1
        AND r.constraint_schema = ";

fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    if rows.schema.is_some() {
        bail!(
            "{rows} is in another database, and so must its triggers be: connect to that one, and name \
             the counter table with its database"
        );
    }
    let mut triggers = vec![
        after(counting, "INSERT", &[NEW]),
        after(counting, "UPDATE", &[OLD, NEW]),
        after(counting, "DELETE", &[OLD]),
    ];
    triggers.extend(cascades(counting)?);
    Ok(triggers)
}

const NEW: &str = "NEW";
const OLD: &str = "OLD";

fn after(counting: &Counting, event: &str, rows: &[&str]) -> Trigger {
    let slot = Dialect::MySql.connection_slot(counting.definition.slots);
    let statements = counting.each_row(rows, " FROM DUAL", &slot, |_, source| !source.exists);
    let body = match &*statements {
        [one] => one.clone(),
        several => {
            let lines = several.iter().map(|one| in_lines(one, 4) + ";\n");
            format!("BEGIN\n{}END", lines.collect::<String>())
        }
    };
    let name = format!("{}_{}", counting.definition.name, event.to_lowercase());
    let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
    let sql = Mysql.table_name(&counting.rows);
    trigger(name, (table, &sql), &format!("AFTER {event}"), body)
}

/// MySQL and MariaDB run no triggers for the rows that a foreign key deletes or sets to NULL. A
/// trigger of the table that it refers to does the same before, in statements that run triggers.
fn cascades(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    let mut triggers = Vec::new();
    for column in &rows.columns {
        let Some(parent) = column.refers_to.as_ref() else {
            continue;
        };
        let name = &column.name;
        let mut sources = counting.targets.iter().flat_map(|target| &target.sources);
        let is_used = sources.any(|source| counting.columns(source).contains(&&**name));
        if is_used && acts(&parent.on_update) {
            bail!(
                "{rows}.{name} has ON UPDATE {}. MySQL and MariaDB run no triggers for the rows that \
                 it changes, so they would not be counted. Remove ON UPDATE {0} first",
                parent.on_update
            );
        }
        // A SET NULL changes what a row adds only by the column itself.
        let is_deleted = parent.on_delete == "CASCADE";
        let is_needed =
            |target: &Target| (is_used || is_deleted) && !goes_with(target, column, parent);
        if !acts(&parent.on_delete) || !counting.targets.iter().any(is_needed) {
            continue;
        }
        let (table, quoted) = (Mysql.table_name(rows), Mysql.quoted(name));
        let refers_to = match parent.in_schema == rows.in_schema {
            true if parent.table == rows.name => format!("{rows} itself"),
            true => String::new(),
            // A trigger can only be in the database of its table.
            false => format!("another database, {}", parent.in_schema),
        };
        if !refers_to.is_empty() {
            bail!(
                "{rows}.{name} has ON DELETE {} and refers to {refers_to}. MySQL and MariaDB run no \
                 triggers for the rows that it changes, so they would not be counted. Remove ON DELETE \
                 {0} first, and change these rows before you delete the row that they refer to",
                parent.on_delete
            );
        }
        // Without its checks, the server would not do it either.
        let of_old = format!(
            "WHERE {quoted} = OLD.{} AND @@foreign_key_checks",
            Mysql.quoted(&parent.column)
        );
        let body = match &*parent.on_delete {
            "CASCADE" => format!("DELETE FROM {table} {of_old}"),
            _ => format!("UPDATE {table} SET {quoted} = NULL {of_old}"),
        };
        let parents = Mysql.quoted(&parent.table);
        let name = format!("{}_of_{name}", counting.definition.name);
        let table = [&parent.in_schema, &parent.table].map(Clone::clone);
        triggers.push(trigger(name, (table, &parents), "BEFORE DELETE", body));
    }
    Ok(triggers)
}

fn acts(action: &str) -> bool {
    ["CASCADE", "SET NULL"].contains(&action)
}

/// Whether the counts of these rows are deleted with their entity.
fn goes_with(target: &Target, column: &Column, parent: &Parent) -> bool {
    let counters = target.counters.parent.as_ref();
    let mut sources = target.sources.iter();
    sources.all(|source| source.entity.as_ref() == Some(column))
        && counters.is_some_and(|counters| counters.cascades() && counters.is_same(parent))
}

fn trigger(name: String, (table, sql): ([String; 2], &str), event: &str, body: String) -> Trigger {
    let quoted = Mysql.quoted(&name);
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {event} ON {sql} FOR EACH ROW\n{body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table,
        event: event.to_owned(),
        body,
        name,
    }
}

/// Statements that change a schema commit, so that a transaction would end at the first of them.
fn without_writers(counting: &Counting, statements: &str) -> String {
    let rows = Mysql.table_name(&counting.rows);
    let mut locks = vec![format!("{rows} WRITE")];
    for target in &counting.targets {
        let table = Mysql.table_name(&target.counters.table);
        locks.extend([
            format!("{table} WRITE"),
            format!("{table} AS {} READ", target.stored_alias()),
        ]);
        for source in &target.sources {
            locks.push(format!("{rows} AS {} READ", source.alias()));
            if let Some((parents, _)) = target.parent.as_ref().filter(|_| !source.exists) {
                let (parents, alias) = (Mysql.table_name(parents), source.parent_alias());
                locks.push(format!("{parents} AS {alias} READ"));
            }
        }
    }
    locks.sort();
    format!(
        "-- If the server has a binary log, creating triggers requires SUPER, or\n\
         -- log_bin_trust_function_creators = ON.\n\
         -- Until UNLOCK TABLES, other sessions wait for these tables.\nLOCK TABLES\n    {};\n\n\
         {statements}\nUNLOCK TABLES;\n",
        locks.join(",\n    ")
    )
}

fn not_counted(counting: &Counting, triggers: &[Trigger]) -> Vec<String> {
    let rows = &counting.rows;
    let mut all = vec![format!(
        "TRUNCATE TABLE {rows}: run `diesel-counters recount` after it."
    )];
    let parents = triggers
        .iter()
        .filter(|trigger| trigger.event == "BEFORE DELETE");
    for trigger in parents {
        let parent = &trigger.table[1];
        all.push(format!(
            "Rows of {rows} whose row of {parent} is deleted by a cascade. Delete the row of {parent} with a \
             DELETE of its own. The migration adds a trigger to {parent} for that: a DELETE of {parent} \
             cannot read {rows} in the same statement, and a REPLACE of {parent} deletes its row first."
        ));
    }
    all
}
