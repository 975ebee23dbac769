//! Numbers that move on open pages: one query a second reads them for all watchers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Query;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use futures_util::{StreamExt, future};
use tokio_stream::wrappers::WatchStream;

use crate::article::{COUNTS, Counts};
use crate::list::PER_PAGE;
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

#[derive(serde::Deserialize)]
pub struct Watched {
    articles: String,
}

/// Sends the counts of articles, within a second and whenever they change.
pub async fn watch(app: App, Query(watched): Query<Watched>) -> impl IntoResponse {
    let articles = watched.articles.split(',').filter_map(|id| id.parse().ok());
    let articles: Vec<i64> = articles.take(PER_PAGE).collect();
    let mut sent = Vec::new();
    let changes = WatchStream::from_changes(app.live.subscribe())
        .take_until(app.stopping.cancelled_owned())
        .filter_map(move |numbers| {
            let counts = articles.iter().filter_map(|id| numbers.get_key_value(id));
            let counts: Vec<_> = counts.map(|(id, counts)| (*id, *counts)).collect();
            let event = (counts != sent).then(|| Event::default().json_data(&counts));
            sent = counts;
            future::ready(event)
        });
    // nginx would keep the events back.
    let headers = [("x-accel-buffering", "no")];
    (headers, Sse::new(changes).keep_alive(KeepAlive::default()))
}
