//! Names that triggers can't have, because they are too long or taken.

use anyhow::{Result, bail};

use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::triggers::{Difference, LiveTrigger, Migrations, Plan, TriggerTable, live_triggers};

/// The maximum length of a name on PostgreSQL, in bytes.
const LONGEST: usize = 63;

/// Fails if the new triggers can't be created together, beside those that stay, or beside triggers
/// in the database that no migration has made.
pub fn refuse(
    difference: &Difference,
    migrations: &Migrations,
    conn: &mut AnyConnection,
) -> Result<()> {
    let database = conn.database();
    let live = live_triggers(conn)?;
    let plans = &difference.new;
    for (index, plan) in plans.iter().enumerate() {
        let name = plan.name();
        let mut names = plan.triggers.iter().map(|trigger| &trigger.name);
        if let Some(name) = names.find(|name| name.len() > LONGEST) {
            bail!(
                "a trigger would be named {name}, which is longer than {LONGEST} bytes: choose a \
                 shorter name"
            );
        }
        // A migration on MySQL would drop that trigger.
        let is_taken = |one: &&LiveTrigger| {
            let mut made = migrations.made();
            let is_made = made.any(|(_, made)| database.is_same_trigger(&made.trigger, &one.name));
            !is_made && is_in(plan, &one.name, &one.table)
        };
        if let Some(live) = live.iter().find(is_taken) {
            let (taken, table) = (&live.name, &live.table.name);
            bail!(
                "{table} already has a trigger {taken}: choose another name than {name}, or drop it"
            );
        }
        for stay in &difference.stay {
            let other = &stay.definition.name;
            let mut made = difference.snapshot.made_for(other).iter();
            let rows = TriggerTable::of(&stay.rows);
            if let Some(shared) = made.find(|made| is_in(plan, &made.trigger, &rows)) {
                bail!("{}", both_have(other, name, &shared.trigger));
            }
        }
        // A migration on MySQL would drop the first of the two.
        for before in &plans[..index] {
            let mut triggers = before.triggers.iter();
            let shared = triggers.find(|one| is_in(plan, &one.name, &one.table));
            if let Some(shared) = shared {
                bail!("{}", both_have(before.name(), name, &shared.name));
            }
        }
    }
    Ok(())
}

fn both_have(one: &str, other: &str, trigger: &str) -> String {
    format!(
        "{one} and {other} would both have a trigger {trigger}: choose another name for one of them"
    )
}

/// Whether a trigger of this name, on this table, has the same name as one in the plan.
fn is_in(plan: &Plan, name: &str, table: &TriggerTable) -> bool {
    let database = plan.counting.database;
    plan.triggers.iter().any(|trigger| {
        // Only on PostgreSQL can several tables have a trigger of the same name.
        let can_meet = database != POSTGRES || trigger.table == *table;
        can_meet && database.is_same_trigger(&trigger.name, name)
    })
}
