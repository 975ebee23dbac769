//! Triggers that count rows on SQLite: one a row.

mod policies;
mod replace;

use anyhow::Result;

use super::counting::Counting;
use super::plan::{Gone, Plan, Which};
use super::statement::{Entities, NEW, OLD, Rows, statements};
use super::stored;
use super::target::{Source, Target};
use super::trigger::Trigger;
use crate::database::{Joined, SQLITE};
use policies::{refuse_checked, refuse_silent_failures, refuse_uncounted};
use replace::replace;

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    for target in &counting.targets {
        refuse_silent_failures(target)?;
    }
    let mut triggers = vec![after(counting, "INSERT", &[NEW])?];
    if counting.has_updates() {
        triggers.push(after(counting, "UPDATE", &[OLD, NEW])?);
    }
    triggers.push(after(counting, "DELETE", &[OLD])?);
    for event in ["INSERT", "UPDATE"] {
        triggers.extend(replace(counting, event)?);
    }
    Ok(triggers)
}

fn after(counting: &Counting, event: &str, rows: &[&str]) -> Result<Trigger> {
    let slot = "0".to_owned();
    let entities = |row: &str, target: &Target, source: &Source| match row {
        _ if target.slots.is_none() => target.entities(source),
        OLD => Entities::Existing,
        // A cascade changes the row after its entity.
        _ if source.exists && event == "UPDATE" && counting.columns(source).len() > 1 => {
            Entities::ExistingOrMoved
        }
        _ => target.entities(source),
    };
    let mut all = Vec::new();
    let mut before = Vec::new();
    for target in &counting.targets {
        for name in rows {
            for source in &target.sources {
                let row = Rows::row(name, entities(name, target, source));
                let changed = (rows.len() > 1).then(|| counting.changed(source));
                let added = counting.added(target, source, &row, changed);
                let add = counting.add_row(target, source, &row, &slot, &added);
                all.extend(refuse_checked(counting, target, &added)?);
                all.push(add.clone());
                all.push(refuse_uncounted(target, &added));
                before.push(add);
            }
        }
    }
    let head = format!("AFTER {event}");
    let what = event.to_lowercase();
    let is_checked = all.len() > 2 * before.len();
    let mut after = trigger(counting, &what, &head, "", all);
    if !is_checked {
        // An earlier version does not look whether a row was counted. It was, unless a trigger of the program
        // refused it.
        after.same = vec![trigger(counting, &what, &head, "", before).body];
    }
    Ok(after)
}

fn trigger(counting: &Counting, what: &str, head: &str, when: &str, all: Vec<String>) -> Trigger {
    let name = format!("{}_{what}", counting.definition.name);
    let (quoted, table) = (SQLITE.quoted(&name), SQLITE.table_name(&counting.rows));
    let all = statements(all, 4);
    let body = format!("{head} ON {table} FOR EACH ROW {when}BEGIN\n{all}END");
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: ("main".to_owned(), counting.rows.name.clone()),
        body,
        name,
        ..Trigger::default()
    }
}

/// The migration's transaction is the only one that writes, from its first statement on.
pub fn up(plans: &[Plan], gone: &[Gone]) -> String {
    let drops = gone
        .iter()
        .map(|gone| gone.drops(Which::All) + &gone.drop_definition);
    let all = plans.iter().map(|plan| {
        let heading = plan.heading() + &stored::create(&plan.counting);
        [heading, plan.create(), plan.existing()].join("\n")
    });
    drops.joined("") + &all.joined("\n")
}
