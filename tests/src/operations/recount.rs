//! `recount` of one entity.

use diesel::dsl::{count_star, sql};
use diesel_counters::Drift;
use diesel_counters::dsl::recount;

use super::*;
use crate::examples::*;

/// Recounts the comments of an entity, and returns what that has added.
#[derive(Debug, Clone)]
pub struct Recount {
    pub of: Entity,
    pub by_day: bool,
}

impl Describe for Recount {
    const WEIGHT: u32 = 4;

    fn random() -> impl Strategy<Value = Self> {
        let all = (values::entity(), any::<bool>());
        all.prop_map(|(of, by_day)| Recount { of, by_day })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let wrong = map.recount(self.of, self.by_day, place)?;
        let added = wrong.iter().map(|(_, _, counts)| counts[1] - counts[0]);
        Ok(number(added.sum()))
    }

    fn scripts() -> Vec<Script> {
        vec![
            Script {
                name: "recount",
                does: "Recounts the comments of article 1",
                table: Table::ARTICLES,
                operation: |_| {
                    Recount {
                        of: ONE,
                        by_day: false,
                    }
                    .into()
                },
            },
            Script {
                name: "recount-by-day",
                does: "Recounts the comments of article 1 by day",
                table: Table::ARTICLES,
                operation: |_| {
                    Recount {
                        of: ONE,
                        by_day: true,
                    }
                    .into()
                },
            },
            Script {
                name: "recount-label",
                does: "Recounts the comments of label a of article 1",
                table: Table::LABELS,
                operation: |_| {
                    Recount {
                        of: ONE,
                        by_day: false,
                    }
                    .into()
                },
            },
        ]
    }
}

run!(Recount, on_table, |self, conn| {
    let one = key(self.of);
    let drifts: Vec<Drift<Key>> = if self.by_day {
        recount(comments, rows_by_day()).of(one).execute(conn)?
    } else {
        recount(comments, rows()).of(one).execute(conn)?
    };
    let added = drifts.iter().map(|drift| drift.actual - drift.stored);
    Ok(number(added.sum()))
});

examples!(Recount, |conn| {
    recount: recount(weekly_counters::comments, comments_by_article()).of(&WeeklyArticle { id: 1 }).execute::<i64, _>(conn);
    recount_by_day: recount(article_counters::comments, comments_by_day!()).of(2_i64).execute::<i64, _>(conn);
    recount_of_a_site: recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn);
});
