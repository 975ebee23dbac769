//! Names that triggers and definitions cannot have: they are too long, or taken.

use anyhow::{Result, bail};
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;

use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES};
use crate::sql::sql_with;
use crate::triggers::{LiveTrigger, Plan, TriggerTable, live_triggers};

/// The names that are taken when a migration has dropped what goes.
pub struct Names {
    live: Vec<LiveTrigger>,
    /// The definitions that go, whose names are free.
    gone: Vec<String>,
}

impl Names {
    /// `gone` are the definitions that go, and `goes` is whether a trigger goes with them.
    pub fn new(
        gone: Vec<String>,
        goes: impl Fn(&LiveTrigger) -> bool,
        conn: &mut AnyConnection,
    ) -> Result<Self> {
        let mut live = live_triggers(conn)?;
        live.retain(|live| !goes(live));
        Ok(Names { live, gone })
    }

    /// Fails if these definitions cannot be created together.
    pub fn refuse(&self, plans: &[Plan], conn: &mut AnyConnection) -> Result<()> {
        for (place, plan) in plans.iter().enumerate() {
            if let Some(why) = self.taken(plan, conn)? {
                bail!("{why}");
            }
            // A migration of MySQL would drop the first one of them.
            for before in &plans[..place] {
                let mut triggers = before.triggers.iter();
                if let Some(shared) = triggers.find(|one| is_in(plan, &one.name, &one.table)) {
                    bail!(
                        "{} and {} would both have a trigger {}: choose another name for one of \
                         them",
                        before.name(),
                        plan.name(),
                        shared.name
                    );
                }
            }
        }
        Ok(())
    }

    /// Why a definition cannot have its names.
    pub fn taken(&self, plan: &Plan, conn: &mut AnyConnection) -> Result<Option<String>> {
        // On PostgreSQL.
        const LONGEST: usize = 63;
        let mut names = plan.triggers.iter().map(|trigger| &trigger.name);
        if let Some(name) = names.find(|name| name.len() > LONGEST) {
            return Ok(Some(format!(
                "a trigger would be named {name}, which is longer than {LONGEST} bytes: choose a \
                 shorter name"
            )));
        }
        let name = plan.name();
        let is_free = self.gone.iter().any(|gone| gone == name);
        if !is_free && has_relation(name, conn)? {
            return Ok(Some(format!(
                "there is a table or view {name} already: choose another name, such as count_{name}"
            )));
        }
        // A migration of MySQL would drop it.
        let mut live = self.live.iter();
        let taken = live.find(|live| is_in(plan, &live.name, &live.table));
        Ok(taken.map(|live| {
            let taken = &live.name;
            let table = &live.table.name;
            format!(
                "{table} has a trigger {taken} already: choose another name than {name}, or drop it"
            )
        }))
    }
}

/// Whether a trigger of this name, on this table, has the name of one of the plan.
fn is_in(plan: &Plan, name: &str, table: &TriggerTable) -> bool {
    let database = plan.counting.database;
    plan.triggers.iter().any(|trigger| {
        // Only PostgreSQL has names by table.
        let can_meet = database != POSTGRES || trigger.table == *table;
        can_meet && database.is_same_trigger(&trigger.name, name)
    })
}

/// Whether there is a table or a view with the name of the view that will have the definition. It
/// is looked up, and not queried: a view runs what its author wants. PostgreSQL itself refuses a
/// second function.
fn has_relation(name: &str, conn: &mut AnyConnection) -> Result<bool> {
    // The server can ignore the case of names.
    const OF_MYSQL: &str = "
        SELECT COUNT(*) > 0 FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_name = {name}
            AND (@@lower_case_table_names > 0
                OR CAST(table_name AS BINARY) = CAST({name} AS BINARY))";
    const OF_SQLITE: &str = "
        SELECT COUNT(*) > 0 FROM sqlite_schema
        WHERE type IN ('table', 'view') AND name = {name} COLLATE NOCASE";
    let query = match conn.database() {
        POSTGRES => return Ok(false),
        MYSQL => OF_MYSQL,
        _ => OF_SQLITE,
    };
    let has_relation = sql_with(query, &[("name", name)]);
    Ok(has_relation.typed::<Bool>().get_result(conn)?)
}
