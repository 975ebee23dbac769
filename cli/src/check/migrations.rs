//! Compares `counters.toml` and the triggers in the database with the migrations.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use diesel::RunQueryDsl;
use diesel::sql_types::Text;

use crate::catalogue::table;
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::fault::{Fault, TableFaults, note, wrong};
use crate::sql::sql;
use crate::triggers::{
    Definition, File, LiveTrigger, Migrations, Snapshot, Trigger, TriggerTable,
    migrations_directory, version,
};

/// The migrations that belong to a `counters.toml`.
pub struct Migrated {
    /// `None` if there is no directory of migrations here, for example on a server.
    directory: Option<PathBuf>,
    migrations: Migrations,
    /// The triggers after all migrations, or why they aren't known.
    state: Result<Snapshot, Error>,
    /// Whether this database hasn't run the latest migrations.
    is_behind: bool,
}

impl Migrated {
    /// Reads the migrations in this directory, or in the one that diesel_cli would use for the
    /// file.
    pub fn read(file: &File, given: Option<&Path>, conn: &mut AnyConnection) -> Result<Self> {
        let directory = match given {
            Some(path) => Some(path.to_owned()),
            None => migrations_directory(&file.path)?,
        };
        let directory = directory.filter(|path| path.is_dir());
        let migrations = match &directory {
            Some(directory) => Migrations::read(directory)?,
            None => Migrations::default(),
        };
        let state = migrations.state();
        let last = state.iter().flat_map(|state| &state.after);
        let last: Vec<_> = last.map(|name| version(name)).collect();
        Ok(Migrated {
            is_behind: is_behind(&last, conn),
            directory,
            migrations,
            state,
        })
    }

    /// Returns a fault if two branches of the repository have changed the same definition, because
    /// then it isn't known which triggers exist after all migrations.
    pub fn branches(&self) -> Option<TableFaults> {
        let error = self.state.as_ref().err()?;
        let cost = "No migration can be generated.";
        Some(TableFaults {
            table: "counters.toml".to_owned(),
            faults: vec![wrong("branches", format!("{error:#}."), cost)],
        })
    }

    /// Adds a note to the faults of a definition if no migration has it. If a migration is missing
    /// or hasn't run, the remedy of its other faults is that migration.
    pub fn with_note(&self, definition: &Definition, mut faults: Vec<Fault>) -> Vec<Fault> {
        let (Ok(state), Some(_)) = (&self.state, &self.directory) else {
            return faults;
        };
        if state.triggers.contains(definition) {
            if self.is_behind {
                remedy_by_migration(&mut faults, "Run its migration: `diesel migration run`.");
            }
            return faults;
        }
        let name = &definition.name;
        // Without triggers, the directory may belong to another program.
        if !state.triggers.is_empty() {
            remedy_by_migration(&mut faults, "Write its migration, and run it.");
        }
        let what = format!("No migration creates {name} as counters.toml says.");
        let cost = "A database counts what its migrations say.";
        let remedy = "Write one: `diesel-counters generate triggers NAME`. If you have reverted the \
                      last one, remove its directory.";
        faults.push(note("not_generated", what, cost).remedy(remedy));
        faults
    }

    /// Finds triggers that a migration has made, but no definition in the file has. `unknown` names
    /// the definitions whose triggers aren't known.
    pub fn leftovers(
        &self,
        file: &File,
        own: &[Trigger],
        unknown: &[&str],
        live: &[LiveTrigger],
        conn: &mut AnyConnection,
    ) -> Vec<TableFaults> {
        let database = conn.database();
        let mut leftovers: Vec<Leftover> = Vec::new();
        for (definition, made) in self.migrations.made_triggers() {
            let mut own_names = own.iter().map(|trigger| &trigger.name);
            let is_own = own_names.any(|name| database.is_same_trigger(name, &made.trigger));
            if is_own || unknown.contains(&definition) {
                continue;
            }
            if let Some(live) = find_live(&made.trigger, &made.table, live, conn) {
                add_leftover(&mut leftovers, definition, live);
            }
        }
        let faults = leftovers.into_iter().map(|leftover| leftover.fault(file));
        faults.collect()
    }
}

/// Finds the trigger in the database that has the name and the table of one that was made.
fn find_live<'l>(
    trigger_name: &str,
    table_name: &str,
    live: &'l [LiveTrigger],
    conn: &mut AnyConnection,
) -> Option<&'l LiveTrigger> {
    let database = conn.database();
    // Only on PostgreSQL can several tables have a trigger of the same name. It looks the table up
    // in the schemas of the user's search path.
    let table = table(conn, table_name).ok();
    let made_for = table.as_ref().map(TriggerTable::of);
    live.iter().find(|live| {
        database.is_same_trigger(&live.name, trigger_name)
            && (database != POSTGRES || made_for.as_ref() == Some(&live.table))
    })
}

/// Adds a trigger to the leftovers of its definition on this table.
fn add_leftover<'l>(leftovers: &mut Vec<Leftover<'l>>, definition: &'l str, live: &'l LiveTrigger) {
    let table = &*live.table.name;
    let is_same =
        |known: &&mut Leftover<'_>| known.table == table && known.definition == definition;
    match leftovers.iter_mut().find(is_same) {
        Some(known) if known.triggers.contains(&&*live.name) => {}
        Some(known) => known.triggers.push(&live.name),
        None => leftovers.push(Leftover {
            table,
            definition,
            triggers: vec![&live.name],
        }),
    }
}

/// The triggers that a definition has left behind.
struct Leftover<'l> {
    table: &'l str,
    definition: &'l str,
    triggers: Vec<&'l str>,
}

impl Leftover<'_> {
    /// Says which triggers are left, and how to drop them.
    fn fault(self, file: &File) -> TableFaults {
        let Leftover {
            table,
            definition,
            triggers,
        } = self;
        let names = triggers.join(", ");
        let cost = "They still count, and a recount doesn't know them.";
        let fault = if file.triggers.iter().any(|one| one.name == definition) {
            let what =
                format!("{table} has triggers that {definition} doesn't need any more: {names}.");
            wrong("trigger_left", what, cost).remedy(format!(
                "Write a migration that drops them, if there is none: `diesel-counters generate \
                 triggers NAME --repair {definition}`. Then run it: `diesel migration run`."
            ))
        } else {
            let what = format!(
                "{table} has triggers of {definition}, which counters.toml doesn't have any more: \
                 {names}."
            );
            wrong("trigger_left", what, cost).remedy(
                "Write a migration that drops them, if there is none: `diesel-counters generate \
                 triggers NAME`. Then run it: `diesel migration run`.",
            )
        };
        TableFaults {
            table: table.to_owned(),
            faults: vec![fault],
        }
    }
}

/// Whether one of these versions hasn't run here, according to diesel_migrations' table. Returns
/// false if there is no such table.
fn is_behind(versions: &[String], conn: &mut AnyConnection) -> bool {
    let run = sql("SELECT version FROM __diesel_schema_migrations").typed::<Text>();
    let Ok(run) = run.load::<String>(conn) else {
        return false;
    };
    versions.iter().any(|version| !run.contains(version))
}

/// Tells the user to create missing and changed triggers by their definition's migration, because
/// only that also corrects the counts.
fn remedy_by_migration(faults: &mut [Fault], remedy: &str) {
    for fault in faults {
        if ["trigger_missing", "trigger_changed"].contains(&fault.fault) {
            remedy.clone_into(&mut fault.remedy);
            fault.sql.clear();
        }
    }
}
