//! Triggers that count rows on MySQL and MariaDB: one a row.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::{Counting, Plan, Rows, Source, Target, Trigger, TriggerSql, VIEW, in_lines};
use crate::catalogue::{Column, Parent};
use crate::database::{Database, Mysql};

pub const SQL: TriggerSql = TriggerSql {
    triggers,
    up,
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
    minus: |one, other| format!("{one} - {other}"),
    alias: "",
    on_conflict: "ON DUPLICATE KEY UPDATE",
    kept: "{table}.{}",
    update: |name, old, value| format!("{name} = {old} + {value}"),
    set: "{table}.{}",
    update_from: |table, from, on, set| format!("UPDATE {table} JOIN {from} ON {on} SET {set}"),
    new_value: "VALUES({})",
    is_new_value_of_table: false,
    has_if: true,
    differs: |new, old| format!("NOT (CAST({new} AS BINARY) <=> CAST({old} AS BINARY))"),
    // A stored column requires that.
    try_expression: [
        "CREATE TEMPORARY TABLE diesel_counters_try AS SELECT * FROM {rows} WHERE 1 = 0",
        "ALTER TABLE diesel_counters_try ADD COLUMN diesel_counters_try VARCHAR(100) AS ({expression}) STORED",
        "DROP TEMPORARY TABLE IF EXISTS diesel_counters_try",
    ],
    keeps_half: true,
    live: "SELECT CAST(event_object_schema AS CHAR), CAST(event_object_table AS CHAR),
            CAST(trigger_name AS CHAR), CONCAT_WS(' ', action_timing, event_manipulation),
            CAST(action_statement AS CHAR), NULL
        FROM information_schema.triggers WHERE trigger_schema = DATABASE()
        UNION ALL
        SELECT '', CAST(table_name AS CHAR), CAST(table_name AS CHAR), 'VIEW', '', NULL
        FROM information_schema.views WHERE table_schema = DATABASE() ORDER BY 1, 2, 3",
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
    let mut columns = counting
        .targets
        .iter()
        .filter(|target| target.slots.is_none());
    if columns.any(|target| target.table.name == rows.name) {
        bail!(
            "a trigger of MySQL and MariaDB cannot change the table of its own row: count the rows of {rows} \
             in a counter table"
        );
    }
    let mut triggers: Vec<_> = Trigger::drifts(counting).collect();
    triggers.extend(
        ["INSERT", "UPDATE"]
            .into_iter()
            .filter_map(|event| lock(counting, event)),
    );
    triggers.push(after(counting, "INSERT", &[NEW]));
    let has_updates = counting.has_updates();
    triggers.extend(has_updates.then(|| after(counting, "UPDATE", &[OLD, NEW])));
    triggers.push(after(counting, "DELETE", &[OLD]));
    triggers.extend(cascades(counting)?);
    Ok(triggers)
}

const NEW: &str = "NEW";
const OLD: &str = "OLD";

fn after(counting: &Counting, event: &str, rows: &[&str]) -> Trigger {
    let slot = Dialect::MySql.connection_slot(counting.definition.slots);
    let sources = counting.targets.iter();
    let sources =
        sources.flat_map(|target| target.sources.iter().map(move |source| (target, source)));
    let statements = sources.map(|(target, source)| {
        let add = |name: &&str| {
            let rows = Rows {
                name,
                from: "",
                minus: *name == OLD,
                entities: target.entities(source),
            };
            counting.add_row(target, source, &rows, &slot, None)
        };
        let statements: Vec<_> = rows.iter().map(add).collect();
        if let [one] = &*statements {
            return one.clone();
        }
        // An IF evaluates the first condition first.
        let mut is_changed = counting.changed(source);
        if let Some(updated) = updated(counting, source) {
            is_changed += &format!("\n    AND {updated}");
        }
        let statements = statements.iter().map(|one| in_lines(one, 4) + ";\n");
        format!(
            "IF {is_changed} THEN\n{}END IF",
            statements.collect::<String>()
        )
    });
    let body = block(&statements.collect::<Vec<_>>());
    let name = format!("{}_{}", counting.definition.name, event.to_lowercase());
    let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
    let sql = Mysql.table_name(&counting.rows);
    trigger(name, (table, &sql), &format!("AFTER {event}"), body)
}

/// Locks the rows that an AFTER trigger will update. Otherwise the foreign key share-locks them first,
/// and two statements that wait for each other to end that deadlock.
fn lock(counting: &Counting, event: &str) -> Option<Trigger> {
    let targets = counting
        .targets
        .iter()
        .filter(|target| target.slots.is_none());
    let sources =
        targets.flat_map(|target| target.sources.iter().map(move |source| (target, source)));
    let locks = sources.filter(|(_, source)| source.exists).map(|(target, source)| {
        let keys = target.entity.iter().map(|key| Mysql.quoted(&key.name));
        let row = |row| format!("({})", counting.entity_of(source, row).join(", "));
        let (rows, when) = match event {
            "UPDATE" => (format!("{}, {}", row(OLD), row(NEW)), Some(counting.changed(source))),
            _ => (row(NEW), None),
        };
        let lock = format!(
            "SET @diesel_counters_locked = (SELECT COUNT(*) FROM {} WHERE ({}) IN ({rows}) FOR UPDATE)",
            Mysql.table_name(&target.table),
            keys.collect::<Vec<_>>().join(", "),
        );
        match when {
            Some(when) => format!("IF {when} THEN\n    {lock};\nEND IF"),
            None => lock,
        }
    });
    let locks: Vec<_> = locks.collect();
    let name = format!("{}_lock_{}", counting.definition.name, event.to_lowercase());
    let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
    let sql = Mysql.table_name(&counting.rows);
    (!locks.is_empty()).then(|| {
        trigger(
            name,
            (table, &sql),
            &format!("BEFORE {event}"),
            block(&locks),
        )
    })
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
    let from = |columns: &str, and: &str| {
        format!(
            "FROM (SELECT {columns} FROM {table} WHERE ({}){and} AND @@foreign_key_checks FOR UPDATE) \
             AS counted",
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
            let query = |from: &str, minus: bool| {
                let rows = Rows {
                    name: "counted",
                    from,
                    minus,
                    entities: target.entities(source),
                };
                counting.query(target, source, &rows, "")
            };
            let was = query(&from("*", ""), is_before);
            let becomes =
                (!changed.is_empty()).then(|| query(&from(&values, &kept.concat()), !is_before));
            [was].into_iter().chain(becomes)
        });
        let queries: Vec<_> = queries.collect();
        match target.slots {
            Some(_) => counting.add(target, &counting.sums(target, &queries, Some(&slot), &[])),
            None => {
                let sums = in_lines(&counting.sums(target, &queries, None, &[]), 4);
                let value = |counter: &str| format!("moved.{}", Mysql.quoted(counter));
                counting.add_to_column(target, &format!("(\n{sums}\n) AS moved"), "moved", value)
            }
        }
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
    let mut counters = target.parents();
    counters.any(|(i, counters)| {
        let mut sources = target.sources.iter();
        sources.all(|source| source.entity[i] == *column)
            && counters.cascades()
            && parent.is_same(&counters)
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
fn up(plans: &[Plan]) -> String {
    let headings: String = plans.iter().map(Plan::heading).collect();
    let tables = plans.iter().flat_map(|plan| {
        let counting = &plan.counting;
        let names = counting.targets.iter().flat_map(|target| {
            let name = Mysql.table_name(&target.table);
            [name + " WRITE", Mysql.quoted(&target.drift) + " READ"]
        });
        let rows = Mysql.table_name(&counting.rows) + " WRITE";
        names.chain([rows]).collect::<Vec<_>>()
    });
    let mut tables: Vec<_> = tables.collect();
    tables.sort();
    tables.dedup();
    let create = |is: &dyn Fn(&Plan, &Trigger) -> bool| {
        let create = plans.iter().flat_map(|plan| {
            let triggers = plan.triggers.iter().filter(|trigger| is(plan, trigger));
            triggers.map(|trigger| match trigger.event == VIEW {
                true => trigger.create.clone(),
                // A migration that failed half way can have left it.
                false => trigger.drop.clone() + &trigger.create,
            })
        });
        create.collect::<String>()
    };
    let is_of_rows = |plan: &Plan, trigger: &Trigger| trigger.table[1] == plan.counting.rows.name;
    let views: String = plans.iter().map(|plan| &*plan.definition).collect();
    let first = create(&|plan, trigger| !is_of_rows(plan, trigger));
    let triggers = create(&is_of_rows);
    let existing: String = plans.iter().map(Plan::existing).collect();
    format!(
        "{headings}\n{views}{first}\n\
         -- If the server has a binary log, creating triggers requires SUPER, or\n\
         -- log_bin_trust_function_creators = ON.\n\
         -- Until UNLOCK TABLES, other sessions wait for these tables.\n\
         LOCK TABLES\n    {};\n\n\
         -- Counts the existing rows: adds the difference between the rows and the counters.\n\
         {existing}\n{triggers}\nUNLOCK TABLES;\n",
        tables.join(",\n    ")
    )
}

fn not_counted(plan: &Plan) -> Vec<String> {
    let rows = &plan.counting.rows;
    let mut all = vec![format!(
        "TRUNCATE TABLE {rows}: run `diesel-counters recount` after it."
    )];
    let triggers = plan.triggers.iter();
    let parents = triggers.filter(|trigger| trigger.event == "BEFORE DELETE");
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
