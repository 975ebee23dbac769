//! **Through a buffer**: page views, counted in memory and written every second.
//!
//! A view has no row that it must commit with, and if the program is killed, nobody misses the views of
//! a second. So a page neither waits nor fails because of its view.

use std::sync::Arc;
use std::time::Duration;

use diesel_counters::CounterBuffer;
use diesel_counters::prelude::*;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use crate::article::Article;
use crate::db::{Pool, Pooled};
use crate::schema::article_counters;

#[derive(Clone)]
pub struct Views {
    pub buffer: Arc<CounterBuffer<Pooled>>,
    /// Who has read what in the last hour.
    seen: Cache<(u64, i64), ()>,
}

impl Views {
    pub fn new(pool: Pool) -> std::io::Result<Self> {
        let buffer = CounterBuffer::of(move || pool.get()).on_write(|write| {
            if write.error.is_some() || !write.refused.is_empty() {
                tracing::warn!("views: {write}");
            }
        });
        let seen = Cache::builder()
            .max_capacity(100_000)
            // The default policy keeps new readers out of a full cache, and would count them again.
            .eviction_policy(EvictionPolicy::lru())
            .time_to_live(Duration::from_secs(60 * 60));
        Ok(Views {
            buffer: Arc::new(buffer.start()?),
            seen: seen.build(),
        })
    }

    /// Counts a view of an article, once an hour for each reader. Returns the article's views that are
    /// not written yet.
    pub fn count(&self, article: &Article, reader: Option<u64>) -> i64 {
        let is_new = |reader| {
            let entry = self.seen.entry((reader, article.id));
            entry.or_insert(()).is_fresh()
        };
        if reader.is_some_and(is_new) {
            let view = increment(article_counters::views).of(article.id);
            if let Err(error) = self.buffer.count(view) {
                tracing::warn!("a view was not counted: {error}");
            }
        }
        self.buffer.pending_of(article_counters::views, &article.id)
    }

    /// Writes the views that are pending. An error is in the log.
    pub async fn write(&self) {
        let buffer = Arc::clone(&self.buffer);
        let _ = tokio::task::spawn_blocking(move || buffer.flush()).await;
    }
}
