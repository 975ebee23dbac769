//! Triggers that count rows on MySQL and MariaDB: one a row.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::Mysql;
use crate::catalogue::{Column, Parent};
use crate::database::{Database, TriggerSql};
use crate::trigger::{Counting, DayOf, Rows, Source, Target, Trigger, in_lines};

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
                    CREATE TEMPORARY TABLE diesel_counters_wrong (PRIMARY KEY ({key})) AS {wrong}",
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
    let updated = |source: &Source| {
        (event == "UPDATE")
            .then(|| updated(counting, source))
            .flatten()
    };
    let entities = |_: &str, source: &Source| source.entities();
    let statements = counting.each_row(rows, " FROM DUAL", &slot, entities, updated);
    let body = block(&statements);
    let name = format!("{}_{}", counting.definition.name, event.to_lowercase());
    let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
    let sql = Mysql.table_name(&counting.rows);
    trigger(name, (table, &sql), &format!("AFTER {event}"), body)
}

/// Whether the row is no longer what it was. MariaDB also runs the trigger for a row that UPDATE
/// IGNORE does not change.
fn updated(counting: &Counting, source: &Source) -> Option<String> {
    let rows = &counting.rows;
    if rows.primary_key.is_empty() {
        return None;
    }
    let quoted = |name: &str| Mysql.quoted(name);
    let key = rows.primary_key.iter().map(|name| quoted(name));
    let key = key.map(|name| format!("same.{name} = OLD.{name}"));
    let columns = counting.columns(source).into_iter().map(quoted);
    let columns =
        columns.map(|name| format!("CAST(same.{name} AS BINARY) <=> CAST(OLD.{name} AS BINARY)"));
    let is_same: Vec<_> = key.chain(columns).collect();
    Some(format!(
        "NOT EXISTS (SELECT 1 FROM {} AS same WHERE {} LOCK IN SHARE MODE)",
        Mysql.table_name(rows),
        is_same.join(" AND ")
    ))
}

/// MySQL and MariaDB run no triggers for the rows that a foreign key deletes or sets to NULL. A
/// trigger of the table that it refers to takes them off before. Another one adds those again that
/// are as they were: a REPLACE can keep them.
fn cascades(counting: &Counting) -> Result<Vec<Trigger>> {
    let mut parents: Vec<Vec<(&Column, &Parent)>> = Vec::new();
    for column in &counting.rows.columns {
        let Some(parent) = column.refers_to.as_ref() else {
            continue;
        };
        if !is_needed(counting, column, parent)? {
            continue;
        }
        let table = |parent: &Parent| (parent.in_schema.clone(), parent.table.clone());
        let mut others = parents.iter_mut();
        match others.find(|columns| table(columns[0].1) == table(parent)) {
            Some(columns) => columns.push((column, parent)),
            None => parents.push(vec![(column, parent)]),
        }
    }
    let triggers = parents.iter().flat_map(|columns| {
        let (column, parent) = columns[0];
        let table = [&parent.in_schema, &parent.table].map(Clone::clone);
        [("of", "BEFORE DELETE"), ("after", "AFTER DELETE")].map(|(what, event)| {
            let name = format!("{}_{what}_{}", counting.definition.name, column.name);
            let body = cascade(counting, columns, event);
            let sql = Mysql.quoted(&parent.table);
            trigger(name, (table.clone(), &sql), event, body)
        })
    });
    Ok(triggers.collect())
}

/// Whether a count depends on what the foreign key of a column does.
fn is_needed(counting: &Counting, column: &Column, parent: &Parent) -> Result<bool> {
    let (rows, name) = (&counting.rows, &column.name);
    let mut sources = counting.targets.iter().flat_map(|target| &target.sources);
    let is_used = sources.any(|source| counting.columns(source).contains(&&**name));
    if is_used && acts(&parent.on_update) {
        bail!(
            "{rows}.{name} has ON UPDATE {}. MySQL and MariaDB run no triggers for the rows that \
             it changes, so they would not be counted. Remove ON UPDATE {0} first",
            parent.on_update
        );
    }
    let mut targets = counting.targets.iter();
    if !acts(&parent.on_delete)
        || !targets.any(|target| is_counted(counting, target, column, parent))
    {
        return Ok(false);
    }
    let refers_to = match parent.in_schema == rows.in_schema {
        true if parent.table == rows.name => format!("{rows} itself"),
        true => return Ok(true),
        // A trigger can only be in the database of its table.
        false => format!("another database, {}", parent.in_schema),
    };
    bail!(
        "{rows}.{name} has ON DELETE {} and refers to {refers_to}. MySQL and MariaDB run no \
         triggers for the rows that it changes, so they would not be counted. Remove ON DELETE \
         {0} first, and change these rows before you delete the row that they refer to",
        parent.on_delete
    );
}

/// Whether a target's counts change when the foreign key deletes rows or sets its column to NULL.
fn is_counted(counting: &Counting, target: &Target, column: &Column, parent: &Parent) -> bool {
    let mut sources = counting.targets.iter().flat_map(|target| &target.sources);
    let is_used = sources.any(|source| counting.columns(source).contains(&&*column.name));
    // A SET NULL changes what a row adds only by the column itself.
    (is_used || parent.cascades()) && !goes_with(target, column, parent)
}

/// Takes off the rows that refer to a row of the parent table, and adds them as the foreign keys
/// leave them; or after it is deleted, the other way round.
fn cascade(counting: &Counting, columns: &[(&Column, &Parent)], event: &str) -> String {
    let slot = Dialect::MySql.connection_slot(counting.definition.slots);
    let table = Mysql.table_name(&counting.rows);
    let refers = |(column, parent): &(&Column, &Parent)| {
        let (name, key) = (Mysql.quoted(&column.name), Mysql.quoted(&parent.column));
        format!("{name} <=> OLD.{key}")
    };
    let all: Vec<_> = columns.iter().map(refers).collect();
    let (deleted, changed): (Vec<_>, Vec<_>) =
        columns.iter().partition(|(_, parent)| parent.cascades());
    let values = counting.rows.columns.iter().map(|column| {
        let name = Mysql.quoted(&column.name);
        let mut changed = changed.iter();
        match changed.find(|(changed, _)| changed.name == column.name) {
            Some((_, parent)) => {
                format!(
                    "NULLIF({name}, OLD.{}) AS {name}",
                    Mysql.quoted(&parent.column)
                )
            }
            None => name,
        }
    });
    let values = values.collect::<Vec<_>>().join(", ");
    let kept: Vec<_> = deleted
        .iter()
        .map(|one| format!(" AND NOT ({})", refers(one)))
        .collect();
    // It reads what is committed, as the foreign keys do.
    let from = |columns: &str, and: &str, alias: &str| {
        format!(
            "\nFROM (SELECT {columns} FROM {table} WHERE ({}){and} AND @@foreign_key_checks FOR UPDATE) \
             AS {alias}",
            all.join(" OR ")
        )
    };
    let is_before = event == "BEFORE DELETE";
    let targets = counting.targets.iter().filter(|target| {
        let mut columns = columns.iter();
        columns.any(|(column, parent)| is_counted(counting, target, column, parent))
    });
    let statements = targets.map(|target| {
        let queries = target.sources.iter().flat_map(|source| {
            let alias = source.alias();
            let query = |from: &str, minus: bool| {
                let rows = Rows {
                    name: &alias,
                    from,
                    minus,
                    day: DayOf::Today,
                    entities: source.entities(),
                };
                counting.query(target, source, &rows, "")
            };
            let was = query(&from("*", "", &alias), is_before);
            let becomes = (!changed.is_empty())
                .then(|| query(&from(&values, &kept.concat(), &alias), !is_before));
            [was].into_iter().chain(becomes)
        });
        let queries: Vec<_> = queries.collect();
        counting.add(target, &queries, &slot)
    });
    block(&statements.collect::<Vec<_>>())
}

/// The body of a trigger.
fn block(statements: &[String]) -> String {
    match statements {
        [one] => one.clone(),
        several => {
            let lines = several.iter().map(|one| in_lines(one, 4) + ";\n");
            format!("BEGIN\n{}END", lines.collect::<String>())
        }
    }
}

fn acts(action: &str) -> bool {
    ["CASCADE", "SET NULL"].contains(&action)
}

/// Whether the counts of these rows are deleted with their entity.
fn goes_with(target: &Target, column: &Column, parent: &Parent) -> bool {
    let mut counters = target.counters.parents();
    counters.any(|(i, counters)| {
        let mut sources = target.sources.iter();
        sources.all(|source| source.entity[i] == *column)
            && counters.cascades()
            && counters.is_same(parent)
    })
}

fn trigger(name: String, (table, sql): ([String; 2], &str), event: &str, body: String) -> Trigger {
    let quoted = Mysql.quoted(&name);
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {event} ON {sql} FOR EACH ROW\n{body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table,
        event: event.to_owned(),
        function: None,
        body,
        name,
    }
}

/// Statements that change a schema commit, so that a transaction would end at the first of them.
fn without_writers(counting: &Counting, first: &str, statements: &str) -> String {
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
            let parents = target.parents.iter().filter(|_| !source.exists);
            locks.extend(parents.map(|parent| {
                let (table, alias) = (&parent.table, source.parent_alias(parent.column));
                format!("{} AS {alias} READ", Mysql.table_name(table))
            }));
        }
    }
    locks.sort();
    format!(
        "{first}-- If the server has a binary log, creating triggers requires SUPER, or\n\
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
             DELETE of its own. The migration adds triggers to {parent} for that. On MariaDB, after a DELETE \
             IGNORE of {parent} that another foreign key refuses, run `diesel-counters recount`: the rows stay, \
             and are no longer counted."
        ));
    }
    if rows.primary_key.is_empty() {
        all.push(format!(
            "On MariaDB, UPDATE IGNORE of {rows}, which has no primary key, counts rows that it does not \
             change."
        ));
    }
    all
}
