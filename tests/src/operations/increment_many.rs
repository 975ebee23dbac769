//! `increment` for many entities.

use std::collections::BTreeMap;

use proptest::collection::vec;

use super::*;
use crate::examples::*;

/// Increments the views and the comments of many entities.
#[derive(Debug, Clone)]
pub struct IncrementMany {
    pub of: Vec<(Entity, Amounts)>,
    /// Today, if it is `None`.
    pub on: Option<NaiveDate>,
}

impl Describe for IncrementMany {
    const WEIGHT: u32 = 8;

    fn random() -> impl Strategy<Value = Self> {
        let of = vec((values::entity(), values::amounts()), 0..6);
        let on = proptest::option::of(values::a_day());
        (of, on).prop_map(|(of, on)| IncrementMany { of, on })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let mut sums = BTreeMap::<Entity, Amounts>::new();
        for (of, by) in &self.of {
            let sum = sums.entry(*of).or_default();
            sum.iter_mut().zip(by).for_each(|(sum, by)| *sum += by);
        }
        sums.retain(|_, by| *by != [0, 0]);
        let on = map::stored(self.on.unwrap_or(tables::today()), place.period());
        for (&of, &by) in &sums {
            map.add(of, by, on?);
        }
        Ok(number(sums.len() as i64))
    }

    fn scripts() -> Vec<Script> {
        vec![
            Script {
                name: "many",
                does: "Increments the views of articles 1 and 2 in one statement",
                table: Table::ARTICLES,
                operation: |n| {
                    let of = vec![(ONE, [n, 0]), (TWO, [n, 0])];
                    IncrementMany { of, on: None }.into()
                },
            },
            Script {
                name: "many-labels",
                does: "Increments labels a and b of article 1 in one statement",
                table: Table::LABELS,
                operation: |n| {
                    let of = vec![(ONE, [n, 0]), (ONE_B, [n, 0])];
                    IncrementMany { of, on: None }.into()
                },
            },
        ]
    }
}

run!(IncrementMany, on_table, |self, conn| {
    let counts = self.of.iter().map(|&(of, [n, m])| (key(of), (n, m)));
    let counts = increment((views, comments)).of_many(counts);
    let counted = match self.on {
        Some(on) => counts.on(on).execute(conn)?,
        None => counts.execute(conn)?,
    };
    Ok(number(counted as i64))
});

examples!(IncrementMany, |conn| {
    increment_many: increment(views).on(monday()).of_many([(2_i64, 5), (1, 1), (3, 2)]).execute(conn);
    increment_many_of_two_columns: increment(reaction_counters::given).on(monday()).of_many([((1_i64, "👍"), 5), ((1, "🎉"), 1)]).execute(conn);
});
