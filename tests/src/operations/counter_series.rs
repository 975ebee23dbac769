//! `counter_series`.

use std::collections::BTreeSet;

use super::*;
use crate::examples::*;

/// Reads the views and the comments of entities by period.
#[derive(Debug, Clone)]
pub struct CounterSeries {
    pub of: Vec<Entity>,
    pub per: Period,
    pub days: Days,
}

impl CounterSeries {
    /// By the year, if it were a series of thousands of years.
    pub fn shortened(mut self, map: &Map) -> Self {
        let months = CounterSeries {
            per: Period::Month,
            ..self.clone()
        };
        if months.starts(map).len() > 1_000 {
            self.per = Period::Year;
        }
        self
    }

    /// The first days of the periods.
    fn starts(&self, map: &Map) -> Vec<NaiveDate> {
        let Some((first, last)) = map::storable(self.days) else {
            return Vec::new();
        };
        let is_read = |day| map::is_read(day, self.days, self.per) && day != map::undated();
        let days = self.of.iter().flat_map(|&of| map.days_of(of));
        let counted: BTreeSet<_> = days.filter(|&day| is_read(day)).collect();
        let mut ends = (Some(first), Some(last));
        if map::is_open(self.days.0) {
            ends.0 = counted.first().copied();
        }
        if map::is_open(self.days.1) {
            ends.1 = counted.last().copied();
        }
        let (Some(first), Some(last)) = ends else {
            return Vec::new();
        };
        let starts = std::iter::successors(Some(map::start(first, self.per)), |&day| {
            map::next(day, self.per)
        });
        starts.take_while(|&day| day <= last).collect()
    }
}

impl Describe for CounterSeries {
    const WEIGHT: u32 = 5;

    fn random() -> impl Strategy<Value = Self> {
        let of =
            prop_oneof![3 => values::entity().prop_map(|of| vec![of]), 2 => values::entities()];
        let all = (of, values::series_period(), values::days());
        all.prop_map(|(of, per, days)| CounterSeries { of, per, days })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        if place.period() == Period::Total || self.per < place.period() {
            return Err(Fault::Refused);
        }
        let starts = self.starts(map);
        let is_in = |day, start| {
            map::is_read(day, self.days, self.per)
                && day != map::undated()
                && map::start(day, self.per) == start
        };
        let mut rows = Returned::new();
        for &of in &self.of {
            for &start in &starts {
                let sums = map.sums(of, |day| is_in(day, start));
                rows.push((Some(place.table.name(of)), Some(start), sums));
            }
        }
        Ok(rows)
    }

    fn reads(asked: &Asked) -> Vec<Self> {
        let of = [vec![asked.of], asked.all.clone()].into_iter();
        let per = Period::Day;
        let days = asked.days;
        of.map(|of| CounterSeries { of, per, days }).collect()
    }
}

run!(CounterSeries, on_table, |self, conn| {
    let read = counter_series((views, comments))
        .per(self.per)
        .between(self.days);
    let series = match self.of.as_slice() {
        [of] => vec![read.of(key(*of)).load(conn)?],
        of => read.of_many(of.iter().map(|&of| key(of))).load(conn)?,
    };
    assert_eq!(self.of.len(), series.len());
    let mut rows = Returned::new();
    for (&of, series) in self.of.iter().zip(series) {
        for (start, (n, m)) in series {
            rows.push((Some(name(of)), Some(start), vec![n, m]));
        }
    }
    Ok(rows)
});

examples!(CounterSeries, |conn| {
    counter_series: counter_series(views).of(1_i64).between(monday()..=sunday()).load(conn);
    counter_series_of_many: counter_series(views).between(monday()..=sunday()).of_many([1_i64, 2]).load(conn);
    counter_series_of_a_prefix: counter_series(version_counters::downloads).of(1).load(conn);
});
