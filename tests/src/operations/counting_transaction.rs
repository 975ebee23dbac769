//! `counting_transaction`.

use std::collections::BTreeMap;

use diesel_counters::counting_transaction;
use proptest::collection::vec;

use super::*;
use crate::examples::*;

/// Increments the views of entities on days, at the end of a transaction.
#[derive(Debug, Clone)]
pub struct CountingTransaction {
    pub counts: Vec<(Entity, NaiveDate, i64)>,
}

impl Describe for CountingTransaction {
    const WEIGHT: u32 = 2;

    fn random() -> impl Strategy<Value = Self> {
        let count = (values::entity(), values::a_day(), values::amount());
        vec(count, 0..6).prop_map(|counts| CountingTransaction { counts })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let mut sums = BTreeMap::<_, i64>::new();
        for &(of, on, n) in &self.counts {
            *sums
                .entry((of, map::start(on, place.period())))
                .or_default() += n;
        }
        sums.retain(|_, sum| *sum != 0);
        for ((of, on), sum) in sums {
            map.add(of, [sum, 0], map::stored(on, place.period())?);
        }
        Ok(Returned::new())
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "counting-transaction",
            does: "Increments views at the end of a `counting_transaction`",
            table: Table::ARTICLES,
            operation: |n| {
                let counts = [ONE, TWO].map(|of| (of, tables::today(), n));
                CountingTransaction {
                    counts: counts.to_vec(),
                }
                .into()
            },
        }]
    }
}

run!(CountingTransaction, on_table, |self, conn| {
    counting_transaction(conn, |tx| {
        for &(of, on, n) in &self.counts {
            tx.count(increment(views).of(key(of)).by(n).on(on));
        }
        Ok(Returned::new())
    })
});

examples!(CountingTransaction, |conn| {
    counting_transaction: counting_transaction(conn, |tx| {
        tx.count(increment(views).of(1_i64).on(monday()));
        tx.count(increment(likes).of(2_i64).on(sunday()));
        QueryResult::Ok(())
    });
});
