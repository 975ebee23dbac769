//! `counter_value` of one entity, and the methods of a model.

use super::*;
use crate::examples::*;

/// Reads the views and the comments of an entity.
#[derive(Debug, Clone)]
pub struct CounterValue {
    pub of: Entity,
    pub days: ReadDays,
}

/// The days that are read.
#[derive(Debug, Clone, Copy)]
pub enum ReadDays {
    All,
    On(NaiveDate),
    Between(Days),
}

impl ReadDays {
    fn one(self) -> Option<NaiveDate> {
        match self {
            ReadDays::On(on) => Some(on),
            ReadDays::All | ReadDays::Between(_) => None,
        }
    }
}

impl Describe for CounterValue {
    const WEIGHT: u32 = 6;

    fn random() -> impl Strategy<Value = Self> {
        let days = prop_oneof![
            2 => Just(ReadDays::All),
            1 => values::a_day().prop_map(ReadDays::On),
            3 => values::days().prop_map(ReadDays::Between),
        ];
        (values::entity(), days).prop_map(|(of, days)| CounterValue { of, days })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let sums = match self.days {
            ReadDays::All => map.sums(self.of, |_| true),
            ReadDays::On(on) => {
                map::stored(on, Period::Day)?;
                map.sums(self.of, |day| map::is_in_period_of(day, on, place.period()))
            }
            ReadDays::Between(days) => {
                map.sums(self.of, |day| map::is_read(day, days, place.period()))
            }
        };
        Ok(vec![(
            Some(place.table.name(self.of)),
            self.days.one(),
            sums,
        )])
    }

    fn reads(asked: &Asked) -> Vec<Self> {
        let read = |days| CounterValue { of: asked.of, days };
        vec![read(ReadDays::All), read(ReadDays::On(asked.on))]
    }
}

run!(CounterValue, on_table, |self, conn| {
    let one = model(self.of);
    let (n, m) = match self.days {
        ReadDays::All => one.counter_value((views, comments), conn)?,
        ReadDays::On(on) => {
            let value = counter_value((views, comments)).of(&one).on(on);
            value.get_result(conn)?
        }
        ReadDays::Between(days) => {
            let m = one.counter_value_between(comments, days, conn)?;
            (one.counter_value_between(views, days, conn)?, m)
        }
    };
    Ok(vec![(Some(name(self.of)), self.days.one(), vec![n, m])])
});

examples!(CounterValue, |conn| {
    counter_value: counter_value(views).of(1_i64).get_result::<i64>(conn);
    counter_value_of_two_counters: counter_value((views, likes)).of(1_i64).get_result::<(i64, i64)>(conn);
    counter_value_of_all: counter_value(views).get_result::<i64>(conn);
    counter_value_of_a_site: counter_value(site_counters::hits).get_result::<i64>(conn);
    counter_value_on: counter_value(views).of(1_i64).on(monday()).get_result::<i64>(conn);
    counter_value_between: counter_value(views).of(1_i64).between(monday()..=sunday()).get_result::<i64>(conn);
    counter_value_of_a_prefix: counter_value(version_counters::downloads).of(1).get_result::<i64>(conn);
    counter_value_of_any: counter_value(views).of_any(articles::table.select(articles::id)).get_result::<i64>(conn);
    counter_value_grouped: counter_value(reaction_counters::given).of(1_i64).group_by(reaction_counters::emoji).load::<(String, i64)>(conn);
});
