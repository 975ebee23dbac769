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
        totals: copy_totals(conn)?,
    })
}

/// Does the same in the background, until the returned [`Compactor`] is dropped.
pub fn in_background(pool: Pool) -> io::Result<Compactor> {
    let of_totals = pool.clone();
    Compactor::of(pool)
        .compact(article_counters::table)
        .every(EVERY)
        .on_run(move |run| log(run, &of_totals))
        .start()
}

fn log(run: &Run, pool: &Pool) {
    match &run.result {
        Ok(done) => tracing::info!(table = run.table, "{done}"),
        Err(error) => tracing::warn!(table = run.table, "cannot merge: {error}"),
    }
    let copied = pool.get().map(|mut conn| copy_totals(&mut conn));
    match copied {
        Ok(Ok(totals)) => tracing::info!(articles = totals, "copied the totals that changed"),
        Ok(Err(error)) => tracing::warn!("cannot copy the totals: {error}"),
        Err(error) => tracing::warn!("cannot copy the totals: {error}"),
    }
}

fn copy_totals(conn: &mut AnyConnection) -> QueryResult<usize> {
    Article::materialize(article_counters::views, articles::total_views).execute(conn)
}
