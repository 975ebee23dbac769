//! `compact`.

use diesel_counters::dsl::compact;

use super::*;
use crate::examples::*;

/// Merges the slots of days before this one, and returns how many rows it has merged, and how many it
/// has left.
#[derive(Debug, Clone)]
pub struct Compact {
    pub before: NaiveDate,
    /// The number of rows in a transaction.
    pub batch: usize,
}

impl Describe for Compact {
    const WEIGHT: u32 = 3;

    fn random() -> impl Strategy<Value = Self> {
        (values::a_day(), 1..5_usize).prop_map(|(before, batch)| Compact { before, batch })
    }

    fn apply(&self, _: &mut Map, place: Place<'_>) -> Expected<Returned> {
        if place.in_transaction {
            return Err(Fault::Refused);
        }
        let before = map::merged_before(self.before, place.period(), Period::Day);
        let rows = place.rows.keys();
        let merged = rows.filter(|row| row.1 < before && row.2 > 0).count();
        Ok(vec![(None, None, vec![merged as i64, 0])])
    }

    fn begins_transactions(&self) -> bool {
        true
    }

    fn is_in_parts(&self) -> bool {
        true
    }

    fn scripts() -> Vec<Script> {
        fn compact(_: i64) -> Operation {
            Compact {
                before: tables::compacted_before(),
                batch: 100,
            }
            .into()
        }
        vec![
            Script {
                name: "compact",
                does: "Merges the slots of old days",
                table: Table::ARTICLES,
                operation: compact,
            },
            Script {
                name: "compact-labels",
                does: "Merges the slots of old days of labels",
                table: Table::LABELS,
                operation: compact,
            },
            Script {
                name: "compact-stock",
                does: "Merges the slots of tickets",
                table: Table::Tickets,
                operation: compact,
            },
        ]
    }
}

run!(Compact, on_any_table, |self, conn| {
    let merge = compact(counters).before(self.before).batch(self.batch);
    let done = merge.execute(conn)?;
    Ok(vec![(
        None,
        None,
        vec![done.merged as i64, done.left as i64],
    )])
});

examples!(Compact, |conn| {
    compact: compact(article_counters::table).before(day(2026, 4, 1)).execute(conn);
    compact_of_a_site: compact(site_counters::table).before(day(2026, 4, 1)).execute(conn);
    compact_of_two_columns: compact(reaction_counters::table).before(day(2026, 4, 1)).execute(conn);
});
