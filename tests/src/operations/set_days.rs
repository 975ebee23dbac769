//! `set_counter` of many days of many entities.

use std::collections::BTreeMap;

use diesel_counters::dsl::set_counter;
use proptest::collection::vec;

use super::*;
use crate::examples::*;

/// Sets the views of entities on days, and returns how many were others.
#[derive(Debug, Clone)]
pub struct SetDays {
    pub counts: Vec<(Entity, NaiveDate, i64)>,
}

impl Describe for SetDays {
    const WEIGHT: u32 = 2;

    fn random() -> impl Strategy<Value = Self> {
        let count = (values::entity(), values::a_day(), values::amount());
        vec(count, 0..6).prop_map(|counts| SetDays { counts })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let mut sums = BTreeMap::<_, i64>::new();
        for &(of, on, n) in &self.counts {
            *sums
                .entry((of, map::start(on, place.period())))
                .or_default() += n;
        }
        if place.is_mysql && place.in_transaction && !sums.is_empty() {
            return Err(Fault::Refused);
        }
        let mut different = 0;
        for ((of, on), to) in sums {
            let is_set = |day| map::is_in_period_of(day, on, place.period());
            let by = to - map.sum(of, 0, is_set);
            map.add(of, [by, 0], map::stored(on, place.period())?);
            different += i64::from(by != 0);
        }
        Ok(number(different))
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "set-days",
            does: "Sets the views of two days of articles 1 and 2",
            table: Table::ARTICLES,
            operation: |n| {
                let days = [tables::today(), tables::day(PAST)].into_iter();
                let counts = days.flat_map(|on| [(ONE, on, 1_000 * n), (TWO, on, 1_000 * n)]);
                SetDays {
                    counts: counts.collect(),
                }
                .into()
            },
        }]
    }
}

run!(SetDays, on_table, |self, conn| {
    let counts = self.counts.iter().map(|&(of, on, n)| (key(of), on, n));
    let different = set_counter(views).of_days(counts).execute(conn)?;
    Ok(number(different as i64))
});

examples!(SetDays, |conn| {
    set_days: set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn);
    set_days_of_a_text: set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn);
    set_days_by_month: set_counter(monthly_counters::views).of_days([(1_i64, monday(), 3)]).execute(conn);
    set_days_of_a_site: set_counter(site_counters::hits).of_days([((), monday(), 3)]).execute(conn);
    set_days_of_two_columns: set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn);
});
