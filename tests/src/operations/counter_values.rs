//! `counter_value` of many entities.

use super::*;
use crate::examples::*;

/// Reads the views and the comments of many entities.
#[derive(Debug, Clone)]
pub struct CounterValues {
    pub of: Vec<Entity>,
    pub days: Days,
}

impl Describe for CounterValues {
    const WEIGHT: u32 = 2;

    fn random() -> impl Strategy<Value = Self> {
        let all = (values::entities(), values::days());
        all.prop_map(|(of, days)| CounterValues { of, days })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let is_read = |day| map::is_read(day, self.days, place.period());
        let rows = self.of.iter();
        let rows = rows.map(|&of| (Some(place.table.name(of)), None, map.sums(of, is_read)));
        Ok(rows.collect())
    }

    fn reads(asked: &Asked) -> Vec<Self> {
        let of = asked.all.clone();
        let days = (Bound::Unbounded, Bound::Unbounded);
        vec![CounterValues { of, days }]
    }
}

run!(CounterValues, on_table, |self, conn| {
    let models: Vec<_> = self.of.iter().map(|&of| model(of)).collect();
    let read = counter_value((views, comments)).between(self.days);
    let read = read.of_many(&models).load(conn)?;
    assert_eq!(self.of.len(), read.len());
    let rows = self.of.iter().zip(read);
    let rows = rows.map(|(&of, (n, m)): (_, (i64, i64))| (Some(name(of)), None, vec![n, m]));
    Ok(rows.collect())
});

examples!(CounterValues, |conn| {
    counter_values: counter_value(views).of_many([2_i64, 7, 1]).load(conn);
    counter_values_of_two_counters: counter_value((views, likes)).of_many([2_i64, 7, 1]).load(conn);
    counter_values_of_three_counters: counter_value((views, likes, article_counters::comments)).of_many([2_i64, 1]).load(conn);
    counter_values_between: counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn);
    counter_values_of_two_columns: counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn);
    counter_values_grouped: counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn);
});
