//! Keeps the counter table small, and the copy of the totals up to date.

use std::io;
use std::time::Duration;

use diesel::prelude::*;
use diesel_counters::dsl::compact;
use diesel_counters::{Compacted, Compactor, HasCounters, Run};

use crate::db::{AnyConnection, Pool};
use crate::models::Article;
use crate::schema::{article_counters, articles};

/// How often the server runs the maintenance.
const EVERY: Duration = Duration::from_secs(60 * 60);

/// The result of a maintenance run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maintained {
    /// The result of merging rows of the counter table.
    pub compacted: Compacted,
    /// The number of articles whose copied total of views has changed.
    pub totals: usize,
}

/// Merges the slots of past days, and copies the totals of views to the articles. Calls
/// `on_progress` after each transaction of the merge.
pub fn maintain(
    conn: &mut AnyConnection,
    on_progress: impl FnMut(&Compacted) + Send,
) -> QueryResult<Maintained> {
    let compact = compact(article_counters::table).on_progress(on_progress);
    Ok(Maintained {
        compacted: compact.execute(conn)?,
        totals: Article::materialize(article_counters::views, articles::total_views)
            .execute(conn)?,
    })
}

/// Does the same in the background, until the returned [`Compactor`] is dropped.
pub fn in_background(pool: Pool) -> io::Result<Compactor> {
    Compactor::of(pool)
        .compact(article_counters::table)
        .materialize(|| Article::materialize(article_counters::views, articles::total_views))
        .every(EVERY)
        .on_run(log)
        .start()
}

fn log(run: &Run) {
    match &run.result {
        Ok(_) => tracing::info!("{run}"),
        Err(_) => tracing::warn!("{run}"),
    }
}
