//! Counts page views beside the pages. A page neither fails nor waits for long because its view
//! cannot be counted.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::db::Pool;
use crate::models::Article;

/// How long a page waits for its own view, which it shows.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// The maximum number of views that wait to be counted. Further views are not counted.
pub const WAITING: u32 = 10_000;

/// The number of views that are counted at the same time. While they wait for a lock, the other
/// connections that write are free.
const AT_ONCE: usize = 2;

/// The views that are not counted yet. They are in memory only: those that wait when the program
/// is killed are lost.
#[derive(Clone)]
pub struct Views {
    pool: Pool,
    patience: Duration,
    most_waiting: u32,
    waiting: Arc<Semaphore>,
    at_once: Arc<Semaphore>,
}

impl Views {
    /// Counts on connections of this pool. A page waits for its own view for up to `patience`, and
    /// up to `most_waiting` views wait to be counted.
    pub fn new(pool: Pool, patience: Duration, most_waiting: u32) -> Self {
        Views {
            pool,
            patience,
            most_waiting,
            waiting: Arc::new(Semaphore::new(most_waiting as usize)),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Counts a view of an article. Returns when it is counted, or after `patience`, and leaves
    /// the rest to the background.
    pub async fn count(&self, article: i64) {
        let Ok(waiting) = Arc::clone(&self.waiting).try_acquire_owned() else {
            tracing::warn!(article, "a view was not counted: too many others wait");
            return;
        };
        let (pool, at_once) = (self.pool.clone(), Arc::clone(&self.at_once));
        let counted = tokio::spawn(async move {
            let _turn = at_once.acquire().await;
            if let Err(error) = count(article, pool).await {
                tracing::warn!(article, "a view was not counted: {error:#}");
            }
            drop(waiting);
        });
        let _ = timeout(self.patience, counted).await;
    }

    /// Waits until no view waits.
    pub async fn all_counted(&self) {
        let _ = self.waiting.acquire_many(self.most_waiting).await;
    }
}

async fn count(article: i64, pool: Pool) -> anyhow::Result<()> {
    spawn_blocking(move || Ok(Article::count_view(article, &mut *pool.get()?)?)).await?
}
