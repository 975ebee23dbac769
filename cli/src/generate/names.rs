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
    let live = live_triggers(conn)?;
    let new = &difference.new;
    for (index, plan) in new.iter().enumerate() {
        refuse_long(plan)?;
        refuse_live(plan, migrations, &live)?;
        refuse_staying(plan, difference)?;
        let earlier = &new[..index];
        refuse_new(plan, earlier)?;
    }
    Ok(())
}

/// Refuses a name that is longer than PostgreSQL allows.
fn refuse_long(plan: &Plan) -> Result<()> {
    let mut names = plan.triggers.iter().map(|trigger| &trigger.name);
    if let Some(name) = names.find(|name| name.len() > LONGEST) {
        bail!(
            "a trigger would be named {name}, which is longer than {LONGEST} bytes: choose a \
             shorter name"
        );
    }
    Ok(())
}

/// Refuses a name that a trigger in the database has, if no migration has made that one. On MySQL,
/// the migration would drop it.
fn refuse_live(plan: &Plan, migrations: &Migrations, live: &[LiveTrigger]) -> Result<()> {
    let database = plan.counting.database;
    let is_made = |name: &str| {
        let mut made = migrations.made_triggers();
        made.any(|(_, made)| database.is_same_trigger(&made.trigger, name))
    };
    let is_taken =
        |live: &&LiveTrigger| !is_made(&live.name) && has_trigger(plan, &live.name, &live.table);
    if let Some(live) = live.iter().find(is_taken) {
        let name = plan.name();
        let (taken, table) = (&live.name, &live.table.name);
        bail!("{table} already has a trigger {taken}: choose another name than {name}, or drop it");
    }
    Ok(())
}

/// Refuses a name that a trigger of a definition has that stays as it is.
fn refuse_staying(plan: &Plan, difference: &Difference) -> Result<()> {
    for stay in &difference.stay {
        let name = &stay.definition.name;
        let rows = TriggerTable::of(&stay.rows);
        let mut made = difference.snapshot.made_for(name).iter();
        if let Some(shared) = made.find(|made| has_trigger(plan, &made.trigger, &rows)) {
            bail!("{}", both_have(name, plan.name(), &shared.trigger));
        }
    }
    Ok(())
}

/// Refuses a name that a trigger of an earlier new definition has. On MySQL, the migration would
/// drop the first of the two.
fn refuse_new(plan: &Plan, earlier: &[Plan]) -> Result<()> {
    for other in earlier {
        let mut triggers = other.triggers.iter();
        let shared = triggers.find(|trigger| has_trigger(plan, &trigger.name, &trigger.table));
        if let Some(shared) = shared {
            bail!("{}", both_have(other.name(), plan.name(), &shared.name));
        }
    }
    Ok(())
}

/// Returns the error message if two definitions have a trigger of the same name.
fn both_have(definition: &str, other_definition: &str, trigger: &str) -> String {
    format!(
        "{definition} and {other_definition} would both have a trigger {trigger}: choose another \
         name for one of them"
    )
}

/// Whether the plan has a trigger with this name that can't exist together with one on this table.
fn has_trigger(plan: &Plan, name: &str, table: &TriggerTable) -> bool {
    let database = plan.counting.database;
    plan.triggers.iter().any(|trigger| {
        // Only on PostgreSQL can several tables have a trigger of the same name.
        let can_conflict = database != POSTGRES || trigger.table == *table;
        can_conflict && database.is_same_trigger(&trigger.name, name)
    })
}
