//! The `sql_mode` and the collation in which triggers were created. They keep them, whatever those
//! of the session are, and these decide what an expression means: `||` is OR, or joins texts;
//! `CAST(n AS CHAR) = 'A'` ignores case, or does not.

use anyhow::{Context, Result, bail};
use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};

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
    triggers: Vec<ModeOfTrigger>,
}

#[derive(Debug, PartialEq, QueryableByName)]
struct Mode {
    #[diesel(sql_type = Text)]
    sql_mode: String,
    #[diesel(sql_type = Text)]
    collation: String,
}

#[derive(QueryableByName)]
struct ModeOfTrigger {
    #[diesel(sql_type = Text)]
    #[diesel(column_name = trigger_name)]
    name: String,
    #[diesel(embed)]
    mode: Mode,
}

impl Modes {
    pub fn new(conn: &mut AnyConnection) -> Result<Self> {
        let session = sql("
            SELECT CAST(@@SESSION.sql_mode AS CHAR) AS sql_mode,
                @@SESSION.collation_connection AS collation");
        let triggers = sql("
            SELECT CAST(trigger_name AS CHAR) AS trigger_name,
                CAST(sql_mode AS CHAR) AS sql_mode,
                CAST(collation_connection AS CHAR) AS collation
            FROM information_schema.triggers WHERE trigger_schema = DATABASE()");
        Ok(Modes {
            session: session.get_result(conn)?,
            triggers: triggers.load(conn)?,
        })
    }

    /// The modes of these triggers that differ in what a statement means. Usually there is one.
    pub fn of(&self, triggers: &[Trigger]) -> Vec<&str> {
        let mut modes: Vec<&str> = Vec::new();
        for Mode { sql_mode, .. } in self.all(triggers) {
            let is_same = |other: &&str| meaning(other) == meaning(sql_mode);
            if !modes.iter().any(is_same) {
                modes.push(sql_mode);
            }
        }
        modes
    }

    fn all(&self, triggers: &[Trigger]) -> Vec<&Mode> {
        let is_asked = |one: &&ModeOfTrigger| triggers.iter().any(|other| other.name == one.name);
        let asked = self.triggers.iter().filter(is_asked);
        asked.map(|one| &one.mode).collect()
    }

    /// Whether a backslash is a character like others in the triggers of this definition.
    pub fn has_no_escapes(&self, definition: &str) -> bool {
        self.triggers.iter().any(|trigger| {
            let rest = trigger.name.strip_prefix(definition);
            let is_of_it = rest.is_some_and(|rest| rest.starts_with('_'));
            let mut modes = trigger.mode.sql_mode.split(',');
            is_of_it && modes.any(|mode| mode == "NO_BACKSLASH_ESCAPES")
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
                "its triggers were created in several modes (sql_mode), and count other rows in \
                 each: {modes}. Revert their migration, and run it again"
            );
        }
        let all = self.all(triggers);
        let first = all.first().copied().unwrap_or(&self.session);
        let sql_mode = &first.sql_mode;
        // A trigger that was created again can have another collation, which seldom matters.
        let have_same = all.iter().all(|mode| mode.collation == first.collation);
        let collation = if have_same {
            &first.collation
        } else {
            &self.session.collation
        };
        let mode_literal = MYSQL.literal(sql_mode);
        let collation_literal = MYSQL.literal(collation);
        let set = format!(
            "SET SESSION sql_mode = {mode_literal}, collation_connection = {collation_literal}"
        );
        let cannot = || {
            format!(
                "cannot set the sql_mode '{sql_mode}' and the collation {collation} of its triggers"
            )
        };
        conn.batch_execute(&set).with_context(cannot)
    }
}

/// The modes that matter, in one order.
fn meaning(sql_mode: &str) -> Vec<&str> {
    let mut modes: Vec<_> = sql_mode.split(',').collect();
    modes.retain(|mode| !HARMLESS.contains(mode));
    modes.sort_unstable();
    modes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(of_triggers: &[(&str, &str)]) -> Modes {
        let mode = |sql_mode: &str| Mode {
            sql_mode: sql_mode.to_owned(),
            collation: "utf8mb4_bin".to_owned(),
        };
        let of_trigger = |(name, sql_mode): &(&str, &str)| ModeOfTrigger {
            name: (*name).to_owned(),
            mode: mode(sql_mode),
        };
        Modes {
            session: mode(""),
            triggers: of_triggers.iter().map(of_trigger).collect(),
        }
    }

    #[test]
    fn modes_differ_if_a_statement_means_something_else() {
        let modes = modes(&[
            ("a", "ANSI_QUOTES,PIPES_AS_CONCAT"),
            ("b", "PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION,ANSI_QUOTES"),
            ("c", "ANSI_QUOTES"),
        ]);
        let of = |names: &[&str]| {
            let trigger = |name: &&str| Trigger {
                name: (*name).to_owned(),
                ..Trigger::default()
            };
            let triggers: Vec<_> = names.iter().map(trigger).collect();
            modes.of(&triggers).len()
        };
        assert_eq!([of(&[]), of(&["a", "b"]), of(&["a", "b", "c"])], [0, 1, 2]);
    }

    #[test]
    fn escapes_are_those_of_the_triggers_of_a_definition() {
        let modes = modes(&[
            ("likes_insert", "NO_BACKSLASH_ESCAPES"),
            ("like_insert", ""),
        ]);
        assert!(modes.has_no_escapes("likes"));
        assert!(!modes.has_no_escapes("like"));
    }
}
