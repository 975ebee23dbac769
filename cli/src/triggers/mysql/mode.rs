//! The `sql_mode` in which triggers were created. They keep it, whatever that of the session is, and it
//! decides what an expression means: `||` is OR, or joins texts.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;

use crate::connection::AnyConnection;
use crate::database::{Joined, MYSQL};
use crate::sql::sql;
use crate::triggers::trigger::Trigger;

/// Those that do not change what a statement of a trigger means.
const HARMLESS: [&str; 8] = [
    "NO_AUTO_CREATE_USER",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_DIR_IN_CREATE",
    "NO_ENGINE_SUBSTITUTION",
    "NO_FIELD_OPTIONS",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "ONLY_FULL_GROUP_BY",
];

/// The modes of the triggers of a database, and that of the session.
pub struct Modes {
    session: String,
    /// By the name of the trigger.
    triggers: Vec<(String, String)>,
}

impl Modes {
    pub fn new(conn: &mut AnyConnection) -> Result<Self> {
        let session = sql("SELECT CAST(@@SESSION.sql_mode AS CHAR)").typed::<Text>();
        let triggers = sql("SELECT CAST(trigger_name AS CHAR), CAST(sql_mode AS CHAR)
             FROM information_schema.triggers WHERE trigger_schema = DATABASE()");
        Ok(Modes {
            session: session.get_result(conn)?,
            triggers: triggers.typed::<(Text, Text)>().load(conn)?,
        })
    }

    /// The modes of these triggers that differ in what a statement means. Usually there is one.
    pub fn of(&self, triggers: &[Trigger]) -> Vec<&str> {
        let mut modes: Vec<&str> = Vec::new();
        let is_one = |name: &str| triggers.iter().any(|trigger| trigger.name == name);
        for (_, mode) in self.triggers.iter().filter(|(name, _)| is_one(name)) {
            if !modes.iter().any(|other| meaning(other) == meaning(mode)) {
                modes.push(mode);
            }
        }
        modes
    }

    /// Whether a backslash is a character like others in the triggers of this definition.
    pub fn has_no_escapes(&self, definition: &str) -> bool {
        let is_of_it = |name: &str| {
            let rest = name.strip_prefix(definition);
            rest.is_some_and(|rest| rest.starts_with('_'))
        };
        let mut triggers = self.triggers.iter().filter(|(name, _)| is_of_it(name));
        triggers.any(|(_, mode)| mode.split(',').any(|one| one == "NO_BACKSLASH_ESCAPES"))
    }

    /// Sets the mode of these triggers, or that of the session if there are none.
    pub fn set(&self, triggers: &[Trigger], conn: &mut AnyConnection) -> Result<()> {
        let mode = match &*self.of(triggers) {
            [] => &self.session,
            [one] => *one,
            several => bail!(
                "its triggers were created in several modes, of which each can mean other rows: {}. Run \
                 `diesel-counters check`, which prints how to create them again",
                several
                    .iter()
                    .map(|mode| format!("'{mode}'"))
                    .joined(" and ")
            ),
        };
        let set = format!("SET SESSION sql_mode = {}", MYSQL.literal(mode));
        let cannot = || format!("cannot set the sql_mode of its triggers, '{mode}'");
        conn.batch_execute(&set).with_context(cannot)
    }
}

fn meaning(mode: &str) -> Vec<&str> {
    let all = mode.split(',');
    let mut all: Vec<_> = all.filter(|one| !HARMLESS.contains(one)).collect();
    all.sort_unstable();
    all
}
