//! Page views, counted in memory. A page neither fails nor waits because its view cannot be counted.

use diesel_counters::CounterBuffer;
use diesel_counters::dsl::CounterBufferBuilder;
use diesel_counters::prelude::*;

use crate::db::{AnyConnection, Pool};
use crate::schema::article_counters;

/// The views that are not written yet.
pub type Views = CounterBuffer<AnyConnection>;

/// The maximum number of articles whose views wait to be written.
const WAITING: usize = 10_000;

/// Builds a buffer that writes the views every second, with a connection of this pool.
///
/// A view has no row that it must commit with, and if the program is killed, nobody misses the views of
/// a second. So views are counted in a buffer. A comment is counted in the transaction that inserts it,
/// and a like by the triggers of its table: their counts must agree with their rows.
pub fn buffer(pool: Pool) -> CounterBufferBuilder<AnyConnection> {
    CounterBuffer::of(pool)
        .max_keys(WAITING)
        .on_write(|write| match write.error {
            None if write.refused.is_empty() => tracing::debug!("views: {write}"),
            _ => tracing::warn!("views: {write}"),
        })
}

/// Counts a view of an article.
pub fn count(views: &Views, article: i64) {
    let view = increment(article_counters::views).of(article);
    if let Err(error) = views.count(view) {
        tracing::warn!(article, "a view was not counted: {error}");
    }
}
