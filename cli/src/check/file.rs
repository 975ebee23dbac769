//! The definitions of `counters.toml`, compared with those of the database.

use anyhow::Result;

use super::triggers::counts_in;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::fault::{Fault, FaultsOf, wrong};
use crate::triggers::{File, Stored, as_stored, definitions};

/// The differences, each with the table of the rows: those of definitions that count in one of
/// these tables, or of all if there are none.
pub fn check(file: &File, tables: &[Table], conn: &mut AnyConnection) -> Result<Vec<FaultsOf>> {
    let path = file.path.display();
    let stored = definitions(conn)?;
    let of_file = file.definitions(&stored, conn)?;
    let mut found = Vec::new();
    // The definitions of the database that the file has.
    let mut known: Vec<&Stored> = Vec::new();
    for definition in &of_file {
        let wanted = as_stored(definition.clone(), conn);
        let mut named = stored
            .iter()
            .filter(|stored| stored.definition.name == definition.name);
        // Several schemas can have triggers of this name.
        let same = named
            .clone()
            .find(|stored| wanted.counts_as(&stored.definition));
        let compared = same.or_else(|| named.next());
        known.extend(compared);
        if same.is_some() || !counts_in(definition, tables) {
            continue;
        }
        let name = &definition.name;
        let fault = if compared.is_none() {
            let what = format!("{path} has the triggers {name}, and the database does not.");
            let cost = "The rows that they should count are not counted.";
            wrong("not_generated", what, cost)
        } else {
            let what = format!("The triggers {name} do not count what {path} says.");
            let cost = "Counts are those of another definition.";
            wrong("generated_otherwise", what, cost)
        };
        found.push(FaultsOf {
            table: definition.rows.clone(),
            faults: vec![with_remedy(fault)],
        });
    }
    for one in &stored {
        let name_of = |stored: &Stored| (stored.schema.clone(), stored.definition.name.clone());
        let is_in_file = known.iter().any(|known| name_of(known) == name_of(one));
        if is_in_file || !counts_in(&one.definition, tables) {
            continue;
        }
        let name = &one.definition.name;
        let of_schema = match &*one.schema {
            "" => String::new(),
            schema => format!(" of the schema {schema}"),
        };
        let what = format!("The triggers {name}{of_schema} are not in {path}.");
        let fault = wrong("not_in_file", what, "The next migration drops them.");
        found.push(FaultsOf {
            table: one.definition.rows.clone(),
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
