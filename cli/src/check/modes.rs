//! Triggers of MySQL and MariaDB keep the `sql_mode` of their creation, which decides what an
//! expression means.

use anyhow::Result;

use crate::connection::AnyConnection;
use crate::database::{Joined, MYSQL};
use crate::fault::{Fault, wrong};
use crate::triggers::{Counting, Modes, Trigger};

/// Triggers of one definition that were created in several modes.
pub fn several(
    triggers: &[Trigger],
    counting: &Counting,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    if counting.database != MYSQL {
        return Ok(None);
    }
    let modes = Modes::new(conn)?;
    let several = modes.of(triggers);
    if several.len() < 2 {
        return Ok(None);
    }
    let name = &counting.definition.name;
    let quoted = several.iter().map(|mode| format!("'{mode}'"));
    let found = quoted.joined(" and ");
    let what = format!("The triggers {name} were created in several modes (sql_mode): {found}.");
    let cost =
        "An expression can count other rows when they are inserted than when they are deleted.";
    Ok(Some(wrong("trigger_modes", what, cost).remedy(
        "Revert their migration, and run it again: it creates all of them in one session.",
    )))
}
