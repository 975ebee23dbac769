//! `total`, an expression of Diesel's queries.

use diesel_counters::dsl::total;

use super::*;
use crate::examples::*;

/// Reads the entities that have more views than this, in the order of their views: `total` in
/// `select`, `filter` and `order`.
#[derive(Debug, Clone)]
pub struct Total {
    pub above: i64,
    pub days: Days,
}

impl Describe for Total {
    const WEIGHT: u32 = 2;

    fn random() -> impl Strategy<Value = Self> {
        let all = (values::amount(), values::days());
        all.prop_map(|(above, days)| Total { above, days })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let mut totals = map.totals_between(self.days, place.period());
        totals.retain(|(_, total)| *total > self.above);
        Ok(place.table.named(totals))
    }

    fn reads(asked: &Asked) -> Vec<Self> {
        let days = (Bound::Unbounded, Bound::Unbounded);
        vec![Total {
            above: asked.limit,
            days,
        }]
    }
}

run!(Total, on_table, |self, conn| {
    let total = total(views).between(self.days);
    let rows = parents
        .select((parent_key, total))
        .filter(total.gt(self.above));
    let rows = rows.order((total.desc(), parent_key));
    let rows = rows.load::<(Key, i64)>(conn)?.into_iter();
    Ok(rows
        .map(|(key, n)| (Some(format!("{key:?}")), None, vec![n]))
        .collect())
});

examples!(Total, |conn| {
    total: articles::table.filter(total(views).gt(1)).order(total(views).desc()).select((articles::id, total(likes).between(monday()..=sunday()))).load::<(i64, i64)>(conn);
    total_of: comments::table.select(total(views).of(comments::article_id)).load::<i64>(conn);
    total_of_two_columns: articles::table.select(total(reaction_counters::given).of((articles::id, "👍"))).load::<i64>(conn);
});
