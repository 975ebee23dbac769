//! `recount` of all keys that begin with a value.

use diesel::dsl::sql;
use diesel_counters::Drift;
use diesel_counters::dsl::recount;

use super::*;
use crate::examples::*;

/// Recounts the comments of the keys that begin as this one does, and returns those that were wrong.
#[derive(Debug, Clone)]
pub struct RecountPrefix {
    pub of: Entity,
}

impl Describe for RecountPrefix {
    fn random() -> impl Strategy<Value = Self> {
        values::entity().prop_map(|of| RecountPrefix { of })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let mut rows = Returned::new();
        for of in map.begin_with(self.of, place.table) {
            rows.extend(map.recount(of, false, place)?);
        }
        Ok(rows)
    }

    fn is_in_parts(&self) -> bool {
        true
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "recount-labels",
            does: "Recounts the comments of all labels of article 1",
            table: Table::LABELS,
            operation: |_| RecountPrefix { of: ONE }.into(),
        }]
    }
}

run!(RecountPrefix, on_table, |self, conn| {
    let drifts: Vec<Drift<Key>> = recount(comments, rows())
        .of(prefix(self.of))
        .execute(conn)?;
    Ok(drifts.iter().map(wrong).collect())
});

examples!(RecountPrefix, |conn| {
    recount_of_two_columns: recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>);
});
