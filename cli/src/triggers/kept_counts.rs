//! The counts that a migration leaves as they are, although they are not those of the rows.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde_json::json;

use super::correction::{Compared, Drift};
use super::counting::Counting;
use super::target::Target;
use crate::connection::AnyConnection;
use crate::output::thousands;
use crate::sql::sql;
use crate::template::render;

impl Counting {
    /// Says for each counter how many entities keep another count than that of their rows, and by
    /// how much. It is an error if the database refuses an expression of the definition.
    pub fn kept_counts(&self, conn: &mut AnyConnection) -> Result<Vec<String>> {
        let mut told = Vec::new();
        for all in &self.targets {
            for place in 0..all.names.len() {
                told.extend(self.kept_in(&all.only_counter(place), conn)?);
            }
        }
        Ok(told)
    }

    fn kept_in(&self, target: &Target, conn: &mut AnyConnection) -> Result<Option<String>> {
        let drift = self.drift_of_entities(target);
        let counter = &target.names[0];
        let actual = format!("{}.{}", drift.name, self.database.quoted(counter));
        let stored = format!("{}.{}", drift.name, self.stored_name(target, counter));
        let values = json!({
            "number": self.database.text("COUNT(*)"),
            "difference": self.database.text(&format!("SUM(ABS({actual} - {stored}))")),
            "stored": stored,
            "drift_of_entities": drift,
        });
        let query = sql(render("kept_counts.sql", values)?)
            .typed::<(Text, diesel::sql_types::Nullable<Text>)>();
        let (number, difference): (String, Option<String>) = query.get_result(conn)?;
        let Some(difference) = difference else {
            return Ok(None);
        };
        let name = &self.definition.name;
        let entities = match &*number {
            "1" => "1 entity keeps a count".to_owned(),
            _ => format!("{} entities keep counts", thousands(number.parse()?)),
        };
        // A number of MySQL can have decimals.
        let whole = difference.split('.').next().unwrap_or_default();
        let difference = whole.parse().map_or(difference.clone(), thousands);
        // Otherwise a recount leaves entities without a row that counts to other programs.
        let zero = match self.compared(target) {
            Compared::All => "",
            Compared::WithRows => " (and with --zero, if nobody else counts in that column)",
        };
        Ok(Some(format!(
            "{entities} in {}.{counter} that the rows of {} don't have, {difference} in total: see \
             them with `diesel-counters recount {name} --dry-run` after the migration, and \
             correct them without --dry-run{zero}",
            target.table, self.rows
        )))
    }

    /// The wrong counts of entities, on all days together.
    fn drift_of_entities(&self, target: &Target) -> Drift {
        let mut drift = self.drift(target, &Compared::All, None);
        let days = drift.group.len() - target.entity.len();
        for list in [&mut drift.columns, &mut drift.group] {
            list.drain(target.entity.len()..target.entity.len() + days);
        }
        drift
    }
}
