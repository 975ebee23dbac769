//! `increment` for one entity, and the methods of a model.

use super::*;
use crate::examples::*;

/// Increments the views, and the comments if they are not 0.
#[derive(Debug, Clone)]
pub struct Increment {
    pub of: Entity,
    pub by: Amounts,
    /// Today, if it is `None`.
    pub on: Option<NaiveDate>,
}

impl Describe for Increment {
    const WEIGHT: u32 = 16;

    fn random() -> impl Strategy<Value = Self> {
        let on = proptest::option::of(values::a_day());
        let all = (values::entity(), values::amounts(), on);
        all.prop_map(|(of, by, on)| Increment { of, by, on })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        // The methods of a model run no statement for nothing.
        if (self.by, self.on) != ([0, 0], None) {
            let on = self.on.unwrap_or(tables::today());
            map.add(self.of, self.by, map::stored(on, place.period())?);
        }
        Ok(Returned::new())
    }

    fn scripts() -> Vec<Script> {
        fn today(n: i64) -> Operation {
            Increment {
                of: ONE,
                by: [n, 0],
                on: None,
            }
            .into()
        }
        vec![
            Script {
                name: "increment",
                does: "Increments the views of article 1",
                table: Table::ARTICLES,
                operation: today,
            },
            Script {
                name: "past",
                does: "Increments the views of a day that compact and fold merge",
                table: Table::ARTICLES,
                operation: |n| {
                    let on = Some(tables::day(PAST));
                    Increment {
                        of: ONE,
                        by: [n, 0],
                        on,
                    }
                    .into()
                },
            },
            Script {
                name: "label",
                does: "Increments label a of article 1",
                table: Table::LABELS,
                operation: today,
            },
        ]
    }
}

run!(Increment, on_table, |self, conn| {
    let one = model(self.of);
    match (self.on, self.by) {
        (None, [1, 0]) => one.incr_counter(views, conn)?,
        (None, [n, 0]) => one.incr_counter_by(views, n, conn)?,
        (None, [0, m]) => one.incr_counter_by(comments, m, conn)?,
        (None, [n, m]) => one.incr_counter_by((views, comments), (n, m), conn)?,
        (Some(on), [n, 0]) => {
            let count = increment(views).of(&one).by(n).on(on);
            count.execute(conn)?;
        }
        (Some(on), [n, m]) => {
            let count = increment((comments, views)).of(key(self.of)).by((m, n));
            count.on(on).execute(conn)?;
        }
    }
    Ok(Returned::new())
});

examples!(Increment, |conn| {
    increment: increment(views).of(1_i64).on(monday()).execute(conn);
    increment_two_counters: increment((views, likes)).of(1_i64).by((2, 3)).on(monday()).execute(conn);
    increment_of_a_site: increment(site_counters::hits).on(monday()).execute(conn);
    increment_of_a_text: increment(page_counters::hits).of("/").on(monday()).execute(conn);
    increment_of_two_columns: increment(reaction_counters::given).of((1_i64, "👍")).on(monday()).execute(conn);
    increment_of_five_columns: increment(wide_counters::hits).of((1_i16, 2, 3_i64, "d", b"e".as_slice())).on(monday()).execute(conn);
    increment_of_odd_names: increment(odd_name::views_).of(1).on(monday()).execute(conn);
    increment_by_week: increment(weekly_counters::views).of(1_i64).execute(conn);
    increment_without_days: increment(timeless_counters::views).of(1_i64).execute(conn);
    increment_in_a_random_slot: increment(random_counters::views).of(1_i64).on(monday()).execute(conn);
});
