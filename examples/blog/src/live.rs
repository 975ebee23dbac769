//! Numbers that move on open pages: one query a second reads them for all watchers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::article::{COUNTS, Counts};
use crate::schema::article_counters;
use crate::server::App;

/// The counts of all articles that have some.
pub type Numbers = Arc<HashMap<i64, Counts>>;

/// Reads the counts of all articles every second, while somebody watches.
pub async fn run(app: App) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if app.live.receiver_count() == 0 {
            continue;
        }
        // Pages show views that are not written yet, and no number should go down.
        app.views.write().await;
        let counts = app.run(|conn| {
            let counts = counter_value(COUNTS).group_by(article_counters::article_id);
            Ok(counts.load::<(i64, Counts)>(conn)?)
        });
        // An error is in the log, and the next second tries again.
        if let Ok(counts) = counts.await {
            app.live
                .send_replace(Arc::new(counts.into_iter().collect()));
        }
    }
}
