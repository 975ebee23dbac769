//! `materialize`.

use diesel_counters::dsl::total;

use super::*;
use crate::examples::*;

/// Copies the views of all entities into a column, and returns how many have changed.
#[derive(Debug, Clone)]
pub struct Materialize;

impl Describe for Materialize {
    fn random() -> impl Strategy<Value = Self> {
        Just(Materialize)
    }

    fn apply(&self, map: &mut Map, _: Place<'_>) -> Expected<Returned> {
        let mut changed = 0;
        for of in map.entities.clone() {
            let total = map.sum(of, 0, |_| true);
            let before = map.totals.insert(of, total).unwrap_or(0);
            changed += i64::from(before != total);
        }
        Ok(number(changed))
    }

    fn is_in_parts(&self) -> bool {
        true
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "materialize",
            does: "Copies the views into a column",
            table: Table::ARTICLES,
            operation: |_| Materialize.into(),
        }]
    }
}

run!(Materialize, on_table, |self, conn| {
    let changed = Model::materialize(views, total_views).execute(conn)?;
    Ok(number(changed as i64))
});

examples!(Materialize, |conn| {
    materialize: Article::materialize(views, articles::total_views).execute(conn);
    materialize_two_counters: Post::materialize((post_counts::views, post_counts::likes), (posts::total_views, posts::total_likes)).execute(conn);
    materialize_between: Article::materialize(views, articles::total_views).between(monday()..=sunday()).execute(conn);
    materialize_two_ranges: Post::materialize((post_counts::views, total(post_counts::views).between(monday()..=sunday())), (posts::total_views, posts::recent_views)).execute(conn);
    materialize_ranges_of_days: Post::materialize((total(post_counts::views).on(monday()), total(post_counts::likes).between(monday()..=sunday())), (posts::total_views, posts::recent_likes)).execute(conn);
    materialize_one_range: Post::materialize(total(post_counts::views).on(monday()), posts::recent_views).execute(conn);
    materialize_ranges_of_a_text: Page::materialize((page_hits::hits, total(page_hits::hits).on(monday())), (pages::all_hits, pages::hits_of_a_day)).execute(conn);
});
