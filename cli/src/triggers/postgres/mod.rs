//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed. One function
//! runs for all of them. It runs with the rights of its owner, so that whoever writes rows needs no right
//! on the counters, and depends on nothing that another role can change: all names have their schema, and
//! its search path has only the server's own.

mod body;

use anyhow::{Result, bail};

use super::counting::Counting;
use super::definition::Existing;
use super::plan::{Gone, Plan, Which};
use super::trigger::Trigger;
use crate::catalogue::Table;
use crate::database::POSTGRES;
use body::{NEW, OLD, body, earlier_body};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    let mut columns = rows.columns.iter();
    // The rows of a statement do not have columns that are computed when they are read.
    if let Some(column) = columns.find(|one| one.not_stored && counting.uses(&one.name)) {
        let (name, why) = (
            &column.name,
            "is a virtual generated column, which a trigger cannot read",
        );
        bail!("{rows}.{name} {why}: make it STORED");
    }
    let (old, new) = (format!("OLD TABLE AS {OLD}"), format!("NEW TABLE AS {NEW}"));
    let after = |event: &str, referencing: &str, names: &str| {
        let runs = format!("AFTER {event} {names}");
        let referencing = format!("REFERENCING {referencing} ");
        trigger(counting, [event, "AFTER", &runs, &referencing])
    };
    let mut triggers = vec![after("INSERT", &new, NEW)];
    if counting.has_updates() {
        let both = format!("{old} {new}");
        triggers.push(after("UPDATE", &both, &format!("{OLD} {NEW}")));
    }
    triggers.push(after("DELETE", &old, OLD));
    let truncate = ["TRUNCATE", "BEFORE", "BEFORE TRUNCATE", ""];
    triggers.push(trigger(counting, truncate));
    triggers.extend(counting.rows.partitioned.then(|| no_merge(counting)));
    Ok(triggers)
}

fn trigger(counting: &Counting, [event, when, runs, referencing]: [&str; 4]) -> Trigger {
    let name = format!("{}_{}", counting.definition.name, event.to_lowercase());
    let (quoted, table) = (POSTGRES.quoted(&name), POSTGRES.table_name(&counting.rows));
    Trigger {
        create: format!(
            "CREATE TRIGGER {quoted} {when} {event} ON {table}\n    {referencing}FOR EACH STATEMENT \
             EXECUTE FUNCTION {}();\n",
            function_name(counting)
        ),
        drop: format!("DROP TRIGGER IF EXISTS {quoted} ON {table};\n"),
        table: (counting.rows.in_schema.clone(), counting.rows.name.clone()),
        name,
        event: runs.to_owned(),
        function: Some(function(counting)),
        body: body(counting),
        same: vec![earlier_body(counting)],
    }
}

/// What the comment on a function begins with that has the definition.
pub const COMMENT: &str = "diesel_counters: ";

pub fn function_name(counting: &Counting) -> String {
    let schema = &counting.rows.in_schema;
    POSTGRES.quoted_in(Some(schema), &counting.definition.name)
}

/// Stores the definition.
pub fn comment(counting: &Counting) -> String {
    let comment = POSTGRES.literal(&(COMMENT.to_owned() + &counting.definition.json()));
    let name = function_name(counting);
    format!("COMMENT ON FUNCTION {name}() IS {comment};\n")
}

/// The body of the function, below the definition. A dump can be without comments on functions.
fn source(counting: &Counting) -> String {
    let definition = counting.definition.json();
    format!("\n-- {COMMENT}{definition}{}", body(counting))
}

/// Creates the function. Nobody else can call it. Its comment has the definition.
fn function(counting: &Counting) -> String {
    let name = function_name(counting);
    format!(
        "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER\n    \
         SET search_path = pg_catalog, pg_temp SET row_security = off AS {};\n{}\
         REVOKE EXECUTE ON FUNCTION {name}() FROM PUBLIC;\n",
        dollar_quoted("counting", &source(counting)),
        comment(counting),
    )
}

/// A text in dollar quotes. The tag is `tag`, and a number if the text has that: names of the catalogue are
/// those of others.
fn dollar_quoted(tag: &str, text: &str) -> String {
    let numbers =
        std::iter::once(String::new()).chain((2..).map(|number: usize| number.to_string()));
    let mut quotes = numbers.map(|number| format!("${tag}{number}$"));
    // One of them is not in the text, which has an end.
    let quote = quotes
        .find(|quote| !text.contains(quote))
        .unwrap_or_default();
    format!("{quote}{text}{quote}")
}

/// One statement keeps its lock to its end, also outside of a transaction.
pub fn up(plans: &[Plan], gone: &[Gone]) -> String {
    let rows = || plans.iter().map(|plan| &plan.counting.rows);
    // The tables of entities come first, as in a program that writes an entity, and then its rows.
    let counting = plans.iter().map(|plan| &plan.counting);
    let now = counting.filter(|counting| counting.definition.existing == Existing::Now);
    let targets = now.flat_map(|counting| &counting.targets);
    let columns = targets.filter(|target| target.slots.is_none());
    let locked = columns.map(|target| &target.table).chain(rows());
    let gone_rows = || gone.iter().filter_map(|gone| gone.rows.as_ref());
    let locked = locks(locked.chain(gone_rows()), gone_rows());
    let owned = plans.iter().flat_map(|plan| {
        let targets = plan.counting.targets.iter().map(|target| &target.table);
        [&plan.counting.rows].into_iter().chain(targets)
    });
    let owned = once(owned.map(|table| {
        let name = POSTGRES.literal(&POSTGRES.table_name(table));
        format!("{name}::regclass")
    }));
    let all = plans.iter().map(|plan| {
        let function = function(&plan.counting);
        let [heading, existing, create] = [plan.heading(), plan.existing(), plan.create()];
        format!("\n{heading}{function}{existing}{create}")
    });
    let drops = gone
        .iter()
        .map(|gone| gone.drops(Which::All) + &gone.drop_definition);
    let drops: String = drops.collect();
    let body = format!(
        "\n#variable_conflict use_column\nDECLARE\n    \
         counting_path TEXT := pg_catalog.current_setting('search_path');\n    \
         counting_security TEXT := pg_catalog.current_setting('row_security');\n\
         BEGIN\n\
         -- Only the server's own functions, and all rows or an error.\n\
         PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), \
         pg_catalog.set_config('row_security', 'off', true);\n\
         IF current_setting('transaction_isolation') <> 'read committed' THEN\n    \
         RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';\n\
         END IF;\n\
         -- The triggers run with the rights of this role, and so do those of these tables.\n\
         IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user\n    \
         AND oid IN ({owned})) THEN\n    \
         RAISE 'run this migration as the role that owns its tables: % does not', current_user;\n\
         END IF;\n\
         -- Until the migration ends, others can read these tables, but not write them.\n\
         {locked}\
         {drops}\
         {}\n\
         PERFORM set_config('search_path', counting_path, true), \
         set_config('row_security', counting_security, true);\n\
         END ",
        all.collect::<String>(),
    );
    format!("DO {};\n", dollar_quoted("diesel_counters", &body))
}

/// The statements that lock these tables, in their order. A statement that drops triggers locks their table
/// against readers, too: it would deadlock with one of them if it had another lock before.
fn locks<'t>(
    tables: impl Iterator<Item = &'t Table>,
    dropped: impl Iterator<Item = &'t Table>,
) -> String {
    let dropped: Vec<_> = dropped.collect();
    let mut locks: Vec<(&str, Vec<String>)> = Vec::new();
    for table in tables {
        let name = POSTGRES.table_name(table);
        if locks.iter().any(|(_, names)| names.contains(&name)) {
            continue;
        }
        let mode = match dropped.iter().any(|dropped| dropped.is(table)) {
            true => "ACCESS EXCLUSIVE",
            false => "SHARE ROW EXCLUSIVE",
        };
        match locks.last_mut().filter(|(last, _)| *last == mode) {
            Some((_, names)) => names.push(name),
            None => locks.push((mode, vec![name])),
        }
    }
    let locks = locks.iter().map(|(mode, names)| {
        let names = names.join(", ");
        format!("LOCK TABLE {names} IN {mode} MODE;\n")
    });
    locks.collect()
}

fn once(all: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// The server gives triggers of a partitioned table other rows than those that a MERGE wrote. It
/// refuses a MERGE into a table that has a rule.
fn no_merge(counting: &Counting) -> Trigger {
    let name = format!("{}_no_merge", counting.definition.name);
    let (quoted, table) = (POSTGRES.quoted(&name), POSTGRES.table_name(&counting.rows));
    Trigger {
        create: format!(
            "-- PostgreSQL passes wrong rows to the triggers of a partitioned table after a MERGE, and\n\
             -- refuses a MERGE into a table with a rule.\n\
             CREATE RULE {quoted} AS ON DELETE TO {table} WHERE false DO ALSO NOTHING;\n"
        ),
        drop: format!("DROP RULE IF EXISTS {quoted} ON {table};\n"),
        table: (counting.rows.in_schema.clone(), counting.rows.name.clone()),
        name,
        event: "RULE".to_owned(),
        ..Trigger::default()
    }
}
