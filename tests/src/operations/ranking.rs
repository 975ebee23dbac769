//! `ranking`.

use super::*;
use crate::examples::*;

/// Reads the entities that have the most views.
#[derive(Debug, Clone)]
pub struct Ranking {
    pub limit: i64,
    pub days: Days,
}

impl Describe for Ranking {
    const WEIGHT: u32 = 2;

    fn random() -> impl Strategy<Value = Self> {
        let limit = prop::sample::select(vec![0, 1, 2, 3, i64::MAX]);
        (limit, values::days()).prop_map(|(limit, days)| Ranking { limit, days })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let is_read = |day| map::is_read(day, self.days, place.period());
        let mut top = map.totals_between(self.days, place.period());
        top.retain(|(of, _)| map.days_of(*of).any(is_read));
        top.truncate(self.limit.try_into().unwrap());
        Ok(place.table.named(top))
    }

    fn reads(asked: &Asked) -> Vec<Self> {
        let days = (Bound::Unbounded, Bound::Unbounded);
        vec![Ranking {
            limit: asked.limit,
            days,
        }]
    }
}

run!(Ranking, on_table, |self, conn| {
    let top = ranking(views).between(self.days).limit(self.limit);
    let top = top.load::<(Key, i64)>(conn)?.into_iter();
    Ok(top
        .map(|(key, n)| (Some(format!("{key:?}")), None, vec![n]))
        .collect())
});

examples!(Ranking, |conn| {
    ranking: ranking(views).limit(10).load::<(i64, i64)>(conn);
    ranking_of_two_columns: ranking(reaction_counters::given).between(monday()..).limit(10).load::<((i64, String), i64)>(conn);
    ranking_grouped: ranking(version_counters::downloads).group_by(version_counters::crate_id).limit(10).load::<(i32, i64)>(conn);
    ranking_of_a_prefix: ranking(version_counters::downloads).of(1).limit(10).load::<((i32, String), i64)>(conn);
});
