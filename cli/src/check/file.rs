//! The definitions of `counters.toml`, compared with those of the database.

use anyhow::Result;

use super::rights;
use super::triggers::counts_in;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::fault::{Fault, FaultsOf, wrong};
use crate::triggers::{File, Stored, as_stored, definitions};

/// The differences, each with the table of the rows: those of definitions that count in one of
/// these tables, or of all if there are none.
pub fn check(file: &File, tables: &[Table], conn: &mut AnyConnection) -> Result<Vec<FaultsOf>> {
    let path = file.path.display();
    let mut stored = Vec::new();
    for one in definitions(conn)? {
        // Anybody can create what looks like a definition.
        if rights::foreign(&one, conn)?.is_none() {
            stored.push(one);
        }
    }
    let (stored, _) = file.separate(stored, conn)?;
    let of_file = file.definitions(&stored, conn)?;
    let mut found = Vec::new();
    for definition in of_file.iter().filter(|one| counts_in(one, tables)) {
        let name = &definition.name;
        let is_same = |stored: &&Stored| stored.definition.name == *name;
        let fault = match stored.iter().find(is_same) {
            None => {
                let what = format!("{path} has the triggers {name}, and the database does not.");
                let cost = "The rows that they should count are not counted.";
                wrong("not_generated", what, cost)
            }
            Some(same) if !as_stored(definition.clone(), conn).counts_as(&same.definition) => {
                let what = format!("The triggers {name} do not count what {path} says.");
                let cost = "Counts are those of another definition.";
                wrong("generated_otherwise", what, cost)
            }
            Some(_) => continue,
        };
        found.push(FaultsOf {
            table: definition.rows.clone(),
            faults: vec![with_remedy(fault)],
        });
    }
    let is_in_file = |name: &str| of_file.iter().any(|one| one.name == name);
    // A migration of this role drops its own triggers only.
    let own = stored
        .iter()
        .filter(|stored| stored.is_own)
        .map(|stored| &stored.definition);
    for definition in own.filter(|one| !is_in_file(&one.name) && counts_in(one, tables)) {
        let what = format!("The triggers {} are not in {path}.", definition.name);
        let fault = wrong("not_in_file", what, "The next migration drops them.");
        found.push(FaultsOf {
            table: definition.rows.clone(),
            faults: vec![with_remedy(fault)],
        });
    }
    Ok(found)
}

fn with_remedy(fault: Fault) -> Fault {
    fault.remedy(
        "Change the file, or run the migration that `diesel-counters generate triggers` prints. \
         `diesel-counters show` prints what the database has.",
    )
}
