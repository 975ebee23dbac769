//! `delete_counters`.

use std::collections::BTreeSet;

use diesel_counters::dsl::delete_counters;

use super::*;
use crate::examples::*;

/// Deletes the counters of entities, and returns how many had any.
#[derive(Debug, Clone)]
pub struct DeleteCounters {
    pub of: Vec<Entity>,
}

impl Describe for DeleteCounters {
    const WEIGHT: u32 = 3;

    fn random() -> impl Strategy<Value = Self> {
        let of = prop_oneof![values::entity().prop_map(|of| vec![of]), values::entities()];
        of.prop_map(|of| DeleteCounters { of })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        map.counts.retain(|key, _| !self.of.contains(&key.0));
        let rows = place
            .rows
            .iter()
            .filter(|(key, _)| self.of.contains(&key.0));
        // The row that corrections lock is none if it is zero.
        let counts = rows.filter(|((_, day, slot), amounts)| {
            (*day, *slot) != (map::undated(), 0) || **amounts != [0, 0]
        });
        let entities: BTreeSet<_> = counts.map(|(key, _)| key.0).collect();
        Ok(number(entities.len() as i64))
    }

    fn scripts() -> Vec<Script> {
        fn one(_: i64) -> Operation {
            DeleteCounters { of: vec![ONE] }.into()
        }
        vec![
            Script {
                name: "delete",
                does: "Deletes the counters of article 1",
                table: Table::ARTICLES,
                operation: one,
            },
            Script {
                name: "delete-many",
                does: "Deletes the counters of articles 1 and 2",
                table: Table::ARTICLES,
                operation: |_| DeleteCounters { of: vec![ONE, TWO] }.into(),
            },
            Script {
                name: "delete-label",
                does: "Deletes the counters of label a of article 1",
                table: Table::LABELS,
                operation: one,
            },
            Script {
                name: "delete-stock",
                does: "Deletes the tickets of article 1",
                table: Table::Tickets,
                operation: one,
            },
        ]
    }
}

run!(DeleteCounters, on_any_table, |self, conn| {
    let delete = delete_counters(counters);
    let deleted = match self.of.as_slice() {
        [one] => delete.of(key(*one)).execute(conn)?,
        of => {
            let keys: Vec<Key> = of.iter().map(|&of| key(of)).collect();
            delete.of_many(&keys).execute(conn)?
        }
    };
    Ok(number(deleted as i64))
});

examples!(DeleteCounters, |conn| {
    delete_counters: delete_counters(article_counters::table).of(1_i64).execute(conn);
    delete_counters_of_many: delete_counters(article_counters::table).of_many([1_i64, 2, 3]).execute(conn);
    delete_counters_of_two_columns: delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn);
    delete_counters_of_a_site: delete_counters(site_counters::table).of(()).execute(conn);
});
