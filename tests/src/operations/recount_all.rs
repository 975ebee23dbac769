//! `recount` of all entities.

use diesel_counters::Drift;
use diesel_counters::dsl::recount;

use super::*;
use crate::examples::*;

/// Recounts the comments of all entities, and returns those that were wrong.
#[derive(Debug, Clone)]
pub struct RecountAll {
    pub by_day: bool,
}

impl Describe for RecountAll {
    fn random() -> impl Strategy<Value = Self> {
        any::<bool>().prop_map(|by_day| RecountAll { by_day })
    }

    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
        let mut rows = Returned::new();
        for of in map.entities.clone() {
            rows.extend(map.recount(of, self.by_day, place)?);
        }
        Ok(rows)
    }

    fn is_in_parts(&self) -> bool {
        true
    }

    fn scripts() -> Vec<Script> {
        vec![
            Script {
                name: "recount-all",
                does: "Recounts the comments of all articles",
                table: Table::ARTICLES,
                operation: |_| RecountAll { by_day: false }.into(),
            },
            Script {
                name: "recount-all-by-day",
                does: "Recounts the comments of all articles by day",
                table: Table::ARTICLES,
                operation: |_| RecountAll { by_day: true }.into(),
            },
        ]
    }
}

run!(RecountAll, on_table, |self, conn| {
    let drifts: Vec<Drift<Key>> = if self.by_day {
        recount(comments, rows_by_day()).execute(conn)?
    } else {
        recount(comments, rows()).execute(conn)?
    };
    Ok(drifts.iter().map(wrong).collect())
});

examples!(RecountAll, |conn| {
    recount_all: recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn);
    recount_all_by_day: recount(article_counters::comments, comments_by_day!()).between(monday()..=sunday()).execute(conn).map(drop::<Vec<Drift<i64>>>);
    recount_dry: recount((views, likes), articles::table.select((articles::id, 0.into_sql::<BigInt>(), 0.into_sql::<BigInt>()))).dry_run(conn).map(drop::<Vec<Drift<i64, _>>>);
});
