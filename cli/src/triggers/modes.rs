//! The `sql_mode` and the collation in which triggers were created. They keep them, whatever those
//! of the session are, and these decide what an expression means: `||` is OR, or joins texts;
//! `CAST(n AS CHAR) = 'A'` ignores case, or does not.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;

use super::trigger::Trigger;
use crate::connection::AnyConnection;
use crate::database::{Joined, MYSQL};
use crate::sql::sql;

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
    session: Mode,
    /// By the name of the trigger.
    triggers: Vec<(String, Mode)>,
}

#[derive(Debug, PartialEq, diesel::Queryable)]
struct Mode {
    sql_mode: String,
    collation: String,
}

impl Modes {
    pub fn new(conn: &mut AnyConnection) -> Result<Self> {
        let session =
            sql("SELECT CAST(@@SESSION.sql_mode AS CHAR), @@SESSION.collation_connection");
        let triggers = sql("SELECT CAST(trigger_name AS CHAR), CAST(sql_mode AS CHAR),
                 CAST(collation_connection AS CHAR)
             FROM information_schema.triggers WHERE trigger_schema = DATABASE()");
        Ok(Modes {
            session: session.typed::<(Text, Text)>().get_result(conn)?,
            triggers: triggers.typed::<(Text, (Text, Text))>().load(conn)?,
        })
    }

    /// The modes of these triggers that differ in what a statement means. Usually there is one.
    pub fn of(&self, triggers: &[Trigger]) -> Vec<&str> {
        let mut modes: Vec<&str> = Vec::new();
        for Mode { sql_mode, .. } in self.all(triggers) {
            if !modes
                .iter()
                .any(|other| meaning(other) == meaning(sql_mode))
            {
                modes.push(sql_mode);
            }
        }
        modes
    }

    fn all(&self, triggers: &[Trigger]) -> Vec<&Mode> {
        let is_one = |name: &str| triggers.iter().any(|trigger| trigger.name == name);
        let all = self.triggers.iter().filter(|(name, _)| is_one(name));
        all.map(|(_, mode)| mode).collect()
    }

    /// Whether a backslash is a character like others in the triggers of this definition.
    pub fn has_no_escapes(&self, definition: &str) -> bool {
        let is_of_it = |name: &str| {
            let rest = name.strip_prefix(definition);
            rest.is_some_and(|rest| rest.starts_with('_'))
        };
        let mut triggers = self.triggers.iter().filter(|(name, _)| is_of_it(name));
        triggers.any(|(_, mode)| {
            mode.sql_mode
                .split(',')
                .any(|one| one == "NO_BACKSLASH_ESCAPES")
        })
    }

    /// Sets the mode of these triggers, or that of the session if there are none.
    pub fn set(&self, triggers: &[Trigger], conn: &mut AnyConnection) -> Result<()> {
        let several = self.of(triggers);
        if several.len() > 1 {
            let modes = several
                .iter()
                .map(|mode| format!("'{mode}'"))
                .joined(" and ");
            bail!(
                "its triggers were created in several modes (sql_mode), and count other rows in each: {modes}. \
                 Revert their migration, and run it again"
            );
        }
        let all = self.all(triggers);
        let Mode {
            sql_mode,
            collation,
        } = all.first().unwrap_or(&&self.session);
        // A trigger that was created again can have another collation, which seldom matters.
        let is_same = all.iter().all(|other| other.collation == *collation);
        let collation = if is_same {
            collation
        } else {
            &self.session.collation
        };
        let values = [sql_mode, collation].map(|value| MYSQL.literal(value));
        let set = format!(
            "SET SESSION sql_mode = {}, collation_connection = {}",
            values[0], values[1]
        );
        let cannot = || {
            format!(
                "cannot set the sql_mode '{sql_mode}' and the collation {collation} of its triggers"
            )
        };
        conn.batch_execute(&set).with_context(cannot)
    }
}

fn meaning(mode: &str) -> Vec<&str> {
    let all = mode.split(',');
    let mut all: Vec<_> = all.filter(|one| !HARMLESS.contains(one)).collect();
    all.sort_unstable();
    all
}
