//! A hundred readers, for a visitor who is alone.

use std::thread::{scope, sleep};
use std::time::Duration;

use chrono::Days;
use diesel::prelude::*;
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;

use crate::article::{Article, today};
use crate::db::{Conn, retry};
use crate::schema::article_counters::{table as article_counters, views};
use crate::server::App;

/// So many readers come at the same time. Each has a connection, and each connection has a slot.
const CONNECTIONS: usize = 14;

/// Sends a hundred readers to an article, and then merges the rows of past days.
pub fn come(app: &App, article: &Article) -> anyhow::Result<()> {
    let Ok(_crowd) = app.crowd.try_lock() else {
        return Ok(());
    };
    scope(|threads| {
        for first in 0..CONNECTIONS {
            threads.spawn(move || -> anyhow::Result<()> {
                let conn = &mut *app.writes.get()?;
                let mut readers = (first..100).step_by(CONNECTIONS);
                readers.try_for_each(|number| Ok(read(article, number, conn)?))
            });
        }
    });
    sleep(Duration::from_secs(2));
    compact(article_counters).execute(&mut *app.writes.get()?)?;
    Ok(())
}

/// Half of the readers are counted today, and half two days ago: a merge is of the days before
/// yesterday.
fn read(article: &Article, number: usize, conn: &mut Conn) -> QueryResult<()> {
    let day = today() - Days::new(number as u64 % 2 * 2);
    let view = increment(views).of(article).on(day);
    retry().run(conn, |conn| view.clone().execute(conn))?;
    if number % 10 < 2 {
        let visitor = rand::random::<u128>();
        article.like(&format!("{visitor:032x}"), day, conn)?;
    }
    sleep(Duration::from_millis(400));
    Ok(())
}
