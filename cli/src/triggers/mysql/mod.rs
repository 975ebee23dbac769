//! Triggers that count rows on MySQL and MariaDB: one a row.

mod cascade;
mod trigger;

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::counting::Counting;
use super::plan::Plan;
use super::statement::{Rows, in_lines, numbered};
use super::stored;
use super::target::Source;
use super::trigger::Trigger;
use crate::catalogue::Table;
use crate::database::MYSQL;
use cascade::cascades;
use trigger::{block, trigger};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
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
    let events = ["INSERT", "UPDATE"].into_iter();
    let mut triggers: Vec<_> = events.filter_map(|event| lock(counting, event)).collect();
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
    let sql = MYSQL.table_name(&counting.rows);
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
        let keys = target.entity.iter().map(|key| MYSQL.quoted(&key.name));
        let row = |row| format!("({})", counting.entity_of(source, row).join(", "));
        let (rows, when) = match event {
            "UPDATE" => (format!("{}, {}", row(OLD), row(NEW)), Some(counting.changed(source))),
            _ => (row(NEW), None),
        };
        let lock = format!(
            "SET @diesel_counters_locked = (SELECT COUNT(*) FROM {} WHERE ({}) IN ({rows}) FOR UPDATE)",
            MYSQL.table_name(&target.table),
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
    let sql = MYSQL.table_name(&counting.rows);
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
    let quoted = |name: &str| MYSQL.quoted(name);
    let key = rows.primary_key.iter().map(|name| quoted(name));
    let key = key.map(|name| format!("same.{name} = OLD.{name}"));
    let columns = counting.columns(source).into_iter().map(quoted);
    let columns =
        columns.map(|name| format!("CAST(same.{name} AS BINARY) <=> CAST(OLD.{name} AS BINARY)"));
    let is_same: Vec<_> = key.chain(columns).collect();
    Some(format!(
        "NOT EXISTS (SELECT 1 FROM {} AS same WHERE {} LOCK IN SHARE MODE)",
        MYSQL.table_name(rows),
        is_same.join(" AND ")
    ))
}

/// Statements that change a schema commit, so that a transaction would end at the first of them.
pub fn up(plans: &[Plan]) -> String {
    let headings: String = plans.iter().map(Plan::heading).collect();
    let tables = plans.iter().flat_map(|plan| {
        let counting = &plan.counting;
        let write = |table: &Table| MYSQL.table_name(table) + " WRITE";
        let read = |used_as: &str, table: &Table| counting.used_as(used_as, table) + " READ";
        let mut names = vec![write(&counting.rows)];
        for target in &counting.targets {
            names.extend([write(&target.table), read("kept", &target.table)]);
            // A query locks each alias once.
            for place in 0..target.sources.len() {
                names.push(read(&numbered("counted", place), &counting.rows));
                let parents = target.parents.iter().map(|parent| &parent.table);
                let parents = parents.chain(target.slots.is_none().then_some(&target.table));
                names.extend(parents.map(|parent| read(&numbered("parent", place), parent)));
            }
        }
        names
    });
    let mut tables: Vec<_> = tables.collect();
    tables.sort();
    tables.dedup();
    let create = |is_of_rows: bool| {
        let create = plans.iter().flat_map(|plan| {
            let triggers = plan.triggers.iter();
            let is_of = move |trigger: &&Trigger| trigger.table[1] == plan.counting.rows.name;
            let triggers = triggers.filter(move |trigger| is_of(trigger) == is_of_rows);
            // A migration that failed half way can have left it.
            triggers.map(|trigger| trigger.drop.clone() + &trigger.create)
        });
        create.collect::<String>()
    };
    let definitions: String = plans
        .iter()
        .map(|plan| stored::create(&plan.counting))
        .collect();
    let (first, triggers) = (create(false), create(true));
    let existing: String = plans.iter().map(Plan::existing).collect();
    format!(
        "{headings}\n{definitions}{first}\n\
         -- If the server has a binary log, creating triggers requires SUPER, or\n\
         -- log_bin_trust_function_creators = ON.\n\
         -- Until UNLOCK TABLES, other sessions wait for these tables.\n\
         LOCK TABLES\n    {};\n\n\
         -- Counts the existing rows: adds the difference between the rows and the counters.\n\
         {existing}\n{triggers}\nUNLOCK TABLES;\n",
        tables.join(",\n    ")
    )
}

pub fn not_counted(plan: &Plan) -> Vec<String> {
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
