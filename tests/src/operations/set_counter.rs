//! `set_counter` of one entity.

use diesel_counters::dsl::set_counter;

use super::*;
use crate::examples::*;

/// Sets the views of an entity, and maybe its comments, and returns what they were.
#[derive(Debug, Clone)]
pub struct SetCounter {
    pub of: Entity,
    pub to: i64,
    pub comments_to: Option<i64>,
    /// All days, if it is `None`.
    pub on: Option<NaiveDate>,
}

impl Describe for SetCounter {
    const WEIGHT: u32 = 4;

    fn random() -> impl Strategy<Value = Self> {
        let comments_to = proptest::option::of(values::amount());
        let on = proptest::option::of(values::a_day());
        let all = (values::entity(), values::amount(), comments_to, on);
        all.prop_map(|(of, to, comments_to, on)| SetCounter {
            of,
            to,
            comments_to,
            on,
        })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let period = place.period();
        if let Some(on) = self.on {
            map::stored(on, Period::Day)?;
        }
        let is_set = |day| {
            self.on
                .is_none_or(|on| map::is_in_period_of(day, on, period))
        };
        let mut before = map.sums(self.of, is_set);
        let to = [self.to, self.comments_to.unwrap_or(before[1])];
        let by = [to[0] - before[0], to[1] - before[1]];
        let on = map::stored(self.on.unwrap_or(tables::today()), period)?;
        map.add(self.of, by, on);
        if self.comments_to.is_none() {
            before.truncate(1);
        }
        Ok(vec![(None, None, before)])
    }

    fn scripts() -> Vec<Script> {
        fn set(to: i64, on: Option<NaiveDate>) -> Operation {
            SetCounter {
                of: ONE,
                to,
                comments_to: None,
                on,
            }
            .into()
        }
        vec![
            Script {
                name: "set",
                does: "Sets the views of article 1",
                table: Table::ARTICLES,
                operation: |n| set(1_000 * n, None),
            },
            Script {
                name: "set-day",
                does: "Sets the views of today, of article 1",
                table: Table::ARTICLES,
                operation: |n| set(1_000 * n, Some(tables::today())),
            },
            Script {
                name: "set-label",
                does: "Sets label a of article 1",
                table: Table::LABELS,
                operation: |n| set(1_000 * n, None),
            },
        ]
    }
}

run!(SetCounter, on_table, |self, conn| {
    let one = model(self.of);
    let before = match self.comments_to {
        None => {
            let set = set_counter(views).of(&one).to(self.to);
            vec![match self.on {
                Some(on) => set.on(on).execute(conn)?,
                None => set.execute(conn)?,
            }]
        }
        Some(number) => {
            let set = set_counter((views, comments))
                .of(key(self.of))
                .to((self.to, number));
            let (n, m) = match self.on {
                Some(on) => set.on(on).execute(conn)?,
                None => set.execute(conn)?,
            };
            vec![n, m]
        }
    };
    Ok(vec![(None, None, before)])
});

examples!(SetCounter, |conn| {
    set_counter: set_counter(weekly_counters::views).of(1_i64).to(7).execute(conn);
    set_counter_on: set_counter(views).of(1_i64).on(monday()).to(7).execute(conn);
    set_counter_of_a_site: set_counter(site_counters::hits).on(monday()).to(7).execute(conn);
    set_counter_of_two_columns: set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn);
});
