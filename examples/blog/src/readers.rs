//! A hundred readers, for a visitor who is alone.

use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::Duration;

use chrono::Days;
use diesel::prelude::*;
use diesel_counters::{dsl::compact, prelude::*};

use crate::article::{Article, today};
use crate::db::retry;
use crate::schema::article_counters::{table as article_counters, views};
use crate::server::App;

/// Sends a hundred readers to an article, and then merges the rows of past days.
pub fn come(app: &App, article: &Article) -> anyhow::Result<()> {
    static CROWD: Mutex<()> = Mutex::new(());
    let _turn = CROWD.lock();
    // Fifteen read at the same time. Each has a connection, and each connection has a slot.
    scope(|threads| {
        for first in 0..15 {
            threads.spawn(move || read(app, article, first));
        }
    });
    sleep(Duration::from_millis(1500));
    compact(article_counters).execute(&mut *app.writes.get()?)?;
    Ok(())
}

/// Half of the readers are counted today, and half two days ago, whose rows are merged.
fn read(app: &App, article: &Article, first: u64) -> anyhow::Result<()> {
    let conn = &mut *app.writes.get()?;
    for number in (first..100).step_by(15) {
        let day = today() - Days::new(number % 2 * 2);
        let view = increment(views).of(article).on(day);
        retry().run(conn, |conn| view.clone().execute(conn))?;
        if number % 10 < 2 {
            article.like(&rand::random::<u64>().to_string(), day, conn)?;
        }
        sleep(Duration::from_millis(400));
    }
    Ok(())
}
