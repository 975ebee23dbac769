//! `delete_counters` of all keys that begin with a value.

use diesel_counters::dsl::delete_counters;

use super::*;
use crate::examples::*;

/// Deletes the counters of the keys that begin as this one does, and returns how many had any.
#[derive(Debug, Clone)]
pub struct DeletePrefix {
    pub of: Entity,
}

impl Describe for DeletePrefix {
    fn random() -> impl Strategy<Value = Self> {
        values::entity().prop_map(|of| DeletePrefix { of })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let of = map.begin_with(self.of, place.table);
        DeleteCounters { of }.apply(map, place)
    }

    fn is_in_parts(&self) -> bool {
        true
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "delete-labels",
            does: "Deletes the counters of all labels of article 1",
            table: Table::LABELS,
            operation: |_| DeletePrefix { of: ONE }.into(),
        }]
    }
}

run!(DeletePrefix, on_table, |self, conn| {
    let deleted = delete_counters(counters)
        .of(prefix(self.of))
        .execute(conn)?;
    Ok(number(deleted as i64))
});

examples!(DeletePrefix, |conn| {
    delete_counters_of_a_prefix: delete_counters(version_counters::table).of(1).execute(conn);
});
