//! Triggers that count rows on MySQL and MariaDB: one a row.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::Mysql;
use crate::catalogue::{Column, Parent, Table};
use crate::database::{Database, TriggerSql};
use crate::trigger::{Counting, Part, Sign, Target, Trigger, in_lines};

pub const SQL: TriggerSql = TriggerSql {
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
    weight: "CAST({} AS SIGNED)",
    sum: "COALESCE(SUM({}), 0)",
    total: "CAST(COALESCE(SUM({}), 0) AS SIGNED)",
    alias: "",
    on_conflict: "ON DUPLICATE KEY UPDATE",
    update: "{} = {} + VALUES({})",
    create_view: "CREATE OR REPLACE VIEW",
    keeps_half: true,
    // At READ COMMITTED, an INSERT reads a snapshot of its own, and locks none of the rows. The lock is
    // held until the session ends.
    before_recount: "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
                     DO GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.recount', DATABASE()), 224), 3600)",
    begin_recount: "",
    views: "SELECT CAST(c.table_schema AS CHAR), CAST(c.table_name AS CHAR)
        FROM information_schema.columns c JOIN information_schema.views v
          ON v.table_schema = c.table_schema AND v.table_name = c.table_name
        WHERE c.table_schema = DATABASE() AND c.column_name = ",
    live: "SELECT CAST(event_object_schema AS CHAR), CAST(event_object_table AS CHAR),
            CAST(trigger_name AS CHAR), CONCAT_WS(' ', action_timing, event_manipulation),
            CAST(action_statement AS CHAR), NULL
        FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1, 2, 3",
};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let (new, old) = ((Sign::Plus, "NEW"), (Sign::Minus, "OLD"));
    let mut triggers = vec![
        after(counting, "INSERT", &[new]),
        after(counting, "UPDATE", &[old, new]),
        after(counting, "DELETE", &[old]),
    ];
    triggers.extend(cascades(counting)?);
    Ok(triggers)
}

fn after(counting: &Counting, event: &str, rows: &[(Sign, &str)]) -> Trigger {
    let slot = Dialect::MySql.connection_slot(counting.definition.slots);
    let statements = counting.targets.iter().map(|target| {
        let parts = rows.iter().map(|(sign, row)| Part {
            sign: *sign,
            row,
            from: " FROM DUAL",
            of_existing: *sign == Sign::Minus && !target.has_same_parent(),
            more: "",
        });
        counting.add_rows(target, &parts.collect::<Vec<_>>(), &slot)
    });
    let statements: Vec<_> = statements.collect();
    let body = match &*statements {
        [one] => one.clone(),
        several => {
            let lines = several.iter().map(|one| in_lines(one, 4) + ";\n");
            format!("BEGIN\n{}END", lines.collect::<String>())
        }
    };
    let name = format!("{}_{}", counting.definition.name, event.to_lowercase());
    trigger(name, &counting.rows, &format!("AFTER {event}"), body)
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
        let is_needed = |target: &Target| !goes_with(target, column, parent);
        let acts = ["CASCADE", "SET NULL"].contains(&&*parent.on_delete);
        if !acts || !counting.targets.iter().any(is_needed) {
            continue;
        }
        let (table, name) = (Mysql.table_name(rows), Mysql.quoted(&column.name));
        if (&parent.in_schema, &parent.table) == (&rows.in_schema, &rows.name) {
            bail!(
                "{rows}.{} has ON DELETE {} and refers to {rows} itself. MySQL and MariaDB run no \
                 triggers for the rows that it changes, so they would not be counted. Remove ON DELETE \
                 {} first, and change these rows before you delete the row that they refer to",
                column.name,
                parent.on_delete,
                parent.on_delete
            );
        }
        let of_old = format!("WHERE {name} = OLD.{}", Mysql.quoted(&parent.column));
        let body = match &*parent.on_delete {
            "CASCADE" => format!("DELETE FROM {table} {of_old}"),
            _ => format!("UPDATE {table} SET {name} = NULL {of_old}"),
        };
        let parents = Table {
            schema: rows.schema.clone(),
            in_schema: parent.in_schema.clone(),
            name: parent.table.clone(),
            ..rows.clone()
        };
        let name = format!("{}_of_{}", counting.definition.name, column.name);
        triggers.push(trigger(name, &parents, "BEFORE DELETE", body));
    }
    Ok(triggers)
}

/// Whether the counts of these rows are deleted with their entity.
fn goes_with(target: &Target, column: &Column, parent: &Parent) -> bool {
    let counters = target.counters.parent.as_ref();
    target.entity.as_ref() == Some(column)
        && counters.is_some_and(|counters| counters.cascades() && counters.is_same(parent))
}

fn trigger(name: String, table: &Table, event: &str, body: String) -> Trigger {
    let (quoted, sql) = (Mysql.quoted(&name), Mysql.table_name(table));
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {event} ON {sql} FOR EACH ROW\n{body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: [table.in_schema.clone(), table.name.clone()],
        event: event.to_owned(),
        body,
        name,
    }
}

/// Statements that change a schema commit, so that a transaction would end at the first of them.
pub fn without_writers(counting: &Counting, statements: &str) -> String {
    let rows = Mysql.table_name(&counting.rows);
    let mut locks = vec![format!("{rows} WRITE"), format!("{rows} AS counted READ")];
    for target in &counting.targets {
        let table = Mysql.table_name(&target.counters.table);
        locks.extend([
            format!("{table} WRITE"),
            format!("{table} AS {} READ", target.stored_alias()),
        ]);
        if let Some((parents, _)) = target.parent.as_ref().filter(|_| !target.has_same_parent()) {
            let parents = Mysql.table_name(parents);
            locks.push(format!("{parents} AS {} READ", target.parent_alias()));
        }
    }
    // Several targets can be in the same table.
    locks.sort();
    locks.dedup();
    format!(
        "-- If the server has a binary log, creating triggers requires SUPER, or\n\
         -- log_bin_trust_function_creators = ON.\n\
         -- Until UNLOCK TABLES, other sessions wait for these tables.\nLOCK TABLES\n    {};\n\n\
         {statements}\nUNLOCK TABLES;\n",
        locks.join(",\n    ")
    )
}

pub fn not_counted(counting: &Counting, triggers: &[Trigger]) -> Vec<String> {
    let rows = &counting.rows;
    let mut all = vec![format!(
        "TRUNCATE TABLE {rows}: run `diesel-counters recount` after it."
    )];
    let parents = triggers
        .iter()
        .filter(|trigger| trigger.event == "BEFORE DELETE");
    all.extend(parents.map(|trigger| {
        let parent = &trigger.table[1];
        format!(
            "Rows of {rows} that go because a cascade deletes their row of {parent}. Delete the rows of \
             {parent} by a statement of their own."
        )
    }));
    all
}
