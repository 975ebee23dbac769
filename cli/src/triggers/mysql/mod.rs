//! Triggers that count rows on MySQL and MariaDB: one a row.

mod cascade;
mod literals;
mod mode;

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::counting::Counting;
use super::plan::{Gone, Plan, Which};
use super::statement::{NEW, OLD, Rows, numbered, statements};
use super::stored;
use super::target::{Source, Target};
use super::trigger::Trigger;
use crate::catalogue::Table;
use crate::database::{Joined, MYSQL};
use cascade::cascades;
pub use cascade::refuse_own_table;
use literals::as_stored;
pub use mode::Modes;

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    if rows.schema.is_some() {
        bail!(
            "{rows} is in another database, and so must its triggers be: connect to that one, and name \
             the counter table with its database"
        );
    }
    let mut targets = counting.targets.iter();
    if targets.any(|target| target.slots.is_none() && target.table.name == rows.name) {
        bail!(
            "a trigger of MySQL and MariaDB cannot change the table of its own row: count the rows of {rows} \
             in a counter table"
        );
    }
    let events = ["INSERT", "UPDATE", "DELETE"].into_iter();
    let mut triggers: Vec<_> = events.filter_map(|event| lock(counting, event)).collect();
    triggers.push(after(counting, "INSERT", &[NEW]));
    let has_updates = counting.has_updates();
    triggers.extend(has_updates.then(|| after(counting, "UPDATE", &[OLD, NEW])));
    triggers.push(after(counting, "DELETE", &[OLD]));
    triggers.extend(cascades(counting)?);
    Ok(triggers)
}

/// A trigger of a table of the same database as the rows. Without BEGIN and END, MySQL keeps the semicolon
/// of a migration behind a single statement, and mysqldump writes a trigger that cannot be restored.
fn trigger(counting: &Counting, what: &str, event: &str, table: &str, all: Vec<String>) -> Trigger {
    let name = format!("{}_{what}", counting.definition.name);
    let (quoted, on) = (MYSQL.quoted(&name), MYSQL.quoted(table));
    let body = format!("BEGIN\n{}END", statements(all, 4));
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {event} ON {on} FOR EACH ROW\n{body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: (counting.rows.in_schema.clone(), table.to_owned()),
        event: event.to_owned(),
        function: None,
        same: as_stored(&body),
        body,
        name,
    }
}

fn connection_slot(slots: u16) -> String {
    match slots {
        0 | 1 => "1".to_owned(),
        _ => format!("1 + {} % {slots}", Dialect::MySql.connection_number()),
    }
}

fn after(counting: &Counting, event: &str, rows: &[&str]) -> Trigger {
    let slot = connection_slot(counting.definition.slots);
    let all = counting.sources().map(|(target, source)| {
        let add = |name: &&str| {
            let rows = Rows::row(name, target.entities(source));
            let added = counting.added(target, source, &rows, None);
            counting.add_row(target, source, &rows, &slot, &added)
        };
        let mut all: Vec<_> = rows.iter().map(add).collect();
        if all.len() == 1 {
            return all.remove(0);
        }
        // An IF evaluates the first condition first.
        let is_changed = counting.changed(source) + &updated(counting, source);
        format!("IF {is_changed} THEN\n{}END IF", statements(all, 4))
    });
    let (what, runs) = (event.to_lowercase(), format!("AFTER {event}"));
    trigger(counting, &what, &runs, &counting.rows.name, all.collect())
}

impl Counting {
    /// The targets that a BEFORE trigger locks: those that a foreign key of the rows refers to, and those
    /// before them. Otherwise the foreign key share-locks their rows first, and two statements that wait for
    /// each other to end that deadlock.
    pub fn locked_before(&self) -> impl Iterator<Item = &Target> {
        let is_sure = |target: &Target| target.sources.iter().any(|source| source.exists);
        let in_column = |target: &Target| target.slots.is_none();
        let mut targets = self.targets.iter();
        let last = targets.rposition(|target| in_column(target) && is_sure(target));
        let until = last.map_or(0, |last| last + 1);
        let targets = self.targets[..until].iter();
        targets.filter(move |target| in_column(target))
    }
}

/// Locks the rows that an AFTER trigger will update, in the same order before each event.
fn lock(counting: &Counting, event: &str) -> Option<Trigger> {
    let sources = counting.locked_before().flat_map(|target| {
        let sources = target.sources.iter();
        sources.map(move |source| (target, source))
    });
    let locks = sources.map(|(target, source)| {
        let row = |row| format!("({})", counting.entity_of(source, row).join(", "));
        let rows = match event {
            "INSERT" => row(NEW),
            "UPDATE" => format!("{}, {}", row(OLD), row(NEW)),
            _ => row(OLD),
        };
        let key = MYSQL.columns("", &target.entity).join(", ");
        let mut of_rows = MYSQL.table_name(&target.table);
        if !key.is_empty() {
            of_rows += &format!(" WHERE ({key}) IN ({rows})");
        }
        let lock =
            format!("SET @diesel_counters_locked = (SELECT COUNT(*) FROM {of_rows} FOR UPDATE)");
        match event {
            "UPDATE" => format!("IF {} THEN\n    {lock};\nEND IF", counting.changed(source)),
            _ => lock,
        }
    });
    let locks: Vec<_> = locks.collect();
    let what = format!("lock_{}", event.to_lowercase());
    let (runs, is_needed) = (format!("BEFORE {event}"), !locks.is_empty());
    is_needed.then(|| trigger(counting, &what, &runs, &counting.rows.name, locks))
}

/// Whether the row is no longer what it was. MariaDB also runs the trigger for a row that UPDATE
/// IGNORE does not change.
fn updated(counting: &Counting, source: &Source) -> String {
    let rows = &counting.rows;
    if rows.primary_key.is_empty() {
        return String::new();
    }
    let of_rows = |row: &str, name: &str| MYSQL.column(row, name);
    let key = rows.primary_key.iter();
    let key = key.map(|name| format!("{} = {}", of_rows("same", name), of_rows(OLD, name)));
    let columns = counting.columns(source).into_iter().map(|name| {
        let [same, old] = ["same", OLD].map(|row| of_rows(row, name));
        format!("CAST({same} AS BINARY) <=> CAST({old} AS BINARY)")
    });
    let (table, same) = (MYSQL.table_name(rows), key.chain(columns).joined(" AND "));
    let same = format!("SELECT 1 FROM {table} AS same WHERE {same} LOCK IN SHARE MODE");
    format!("\n    AND NOT EXISTS ({same})")
}

/// Statements that change a schema commit, so that a transaction would end at the first of them.
///
/// What fails half way is found by the next `generate triggers`: a definition is stored before the first statement
/// that its triggers need, and dropped after the last one.
pub fn up(plans: &[Plan], gone: &[Gone]) -> String {
    let mut tables = Vec::new();
    for counting in plans.iter().map(|plan| &plan.counting) {
        let write = |table: &Table| MYSQL.table_name(table) + " WRITE";
        let read = |used_as: &str, table: &Table| counting.used_as(used_as, table) + " READ";
        tables.push(write(&counting.rows));
        for target in &counting.targets {
            tables.extend([write(&target.table), read("kept", &target.table)]);
            // A query locks each alias once.
            for place in 0..target.sources.len() {
                tables.push(read(&numbered("counted", place), &counting.rows));
                let parents = target.parents.iter().map(|parent| &parent.table);
                tables.extend(parents.map(|parent| read(&numbered("parent", place), parent)));
            }
        }
    }
    let gone_rows = gone.iter().filter_map(|gone| gone.rows.as_ref());
    tables.extend(gone_rows.map(|table| MYSQL.table_name(table) + " WRITE"));
    tables.sort();
    tables.dedup();
    let create = |is_of_rows: bool| -> String {
        let triggers = plans.iter().flat_map(|plan| {
            let rows = &plan.counting.rows.name;
            let triggers = plan.triggers.iter();
            triggers.filter(move |one| (one.table.1 == *rows) == is_of_rows)
        });
        // A migration that failed half way can have left them.
        triggers.flat_map(|one| [&*one.drop, &one.create]).collect()
    };
    let headings: String = plans.iter().map(Plan::heading).collect();
    let definitions = plans.iter().map(|plan| stored::create(&plan.counting));
    let existing: String = plans.iter().map(Plan::existing).collect();
    let drops = |which| -> String { gone.iter().map(|gone| gone.drops(which)).collect() };
    let is_created = |gone: &&Gone| plans.iter().any(|plan| plan.name() == gone.name);
    let only_dropped = gone.iter().filter(|gone| !is_created(gone));
    let drop_definitions = only_dropped.map(|gone| &*gone.drop_definition);
    format!(
        "{headings}\n{}{}{}\n\
         -- If the server has a binary log, creating triggers requires SUPER, or\n\
         -- log_bin_trust_function_creators = ON.\n\
         -- Until UNLOCK TABLES, other sessions wait for these tables.\n\
         LOCK TABLES\n    {};\n\n\
         {}{existing}\n{}\nUNLOCK TABLES;\n{}",
        definitions.collect::<String>(),
        drops(Which::OfOthers),
        create(false),
        tables.join(",\n    "),
        drops(Which::OfRows),
        create(true),
        drop_definitions.collect::<String>(),
    )
}
