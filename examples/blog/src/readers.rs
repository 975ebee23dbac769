//! Simulated readers, for a visitor who is alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, scope, sleep, spawn};
use std::time::{Duration, Instant};

use chrono::Days;
use diesel::prelude::*;
use diesel_counters::{dsl::compact, prelude::*};

use crate::article::{Article, today};
use crate::db::retry;
use crate::schema::article_counters::{table as article_counters, views};
use crate::schema::articles;
use crate::server::App;

/// Sends a hundred readers to an article, unless the last hundred are still on their way.
pub fn send(app: &App, article: Article) {
    let mut crowd = lock(&app.sample.0.crowd);
    if crowd.as_ref().is_some_and(|crowd| !crowd.is_finished()) {
        return;
    }
    let app = app.clone();
    *crowd = Some(spawn(move || {
        if let Err(error) = come(&app, &article) {
            tracing::error!("the merge after a hundred readers: {error:#}");
        }
    }));
}

/// Has a hundred readers read an article, and then merges the rows of past days.
fn come(app: &App, article: &Article) -> anyhow::Result<()> {
    // Fifteen read at the same time. Each has its own connection, and each connection has its own
    // slot.
    scope(|threads| {
        for first in 0..15 {
            threads.spawn(move || {
                if let Err(error) = read(app, article, first) {
                    tracing::error!("a reader of the hundred: {error:#}");
                }
            });
        }
    });
    sleep(Duration::from_millis(1500));
    compact(article_counters).execute(&mut *app.writes.get()?)?;
    Ok(())
}

/// Counts half of the readers today, and half two days ago, so that there are rows to merge.
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

/// The sample's readers. They come while a visitor on this machine looks at the front page, and can
/// be switched off.
#[derive(Clone, Default)]
pub struct SampleReaders(Arc<Switch>);

#[derive(Default)]
struct Switch {
    is_on: AtomicBool,
    /// When somebody last looked.
    watched: Mutex<Option<Instant>>,
    /// The thread of the latest hundred readers.
    crowd: Mutex<Option<JoinHandle<()>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SampleReaders {
    pub fn switch(&self, on: bool) {
        self.0.is_on.store(on, Ordering::Relaxed);
    }

    pub fn are_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    /// Notes that somebody is looking. An open page says so every 2 seconds.
    pub fn are_watched(&self) {
        *lock(&self.0.watched) = Some(Instant::now());
    }

    fn come(&self) -> bool {
        let watched = *lock(&self.0.watched);
        let is_watched = watched.is_some_and(|at| at.elapsed() < Duration::from_secs(5));
        self.are_on() && is_watched
    }
}

/// Starts a thread that sends the sample's readers, a few per second.
pub fn come_while_watched(app: App) {
    spawn(move || {
        loop {
            sleep(Duration::from_millis(rand::random_range(150..900)));
            if let Err(error) = one_comes(&app) {
                tracing::warn!("a reader of the sample: {error:#}");
            }
        }
    });
}

/// Sends one reader if somebody is looking and no race is running. Returns whether one came.
pub fn one_comes(app: &App) -> anyhow::Result<bool> {
    let comes = app.sample.come() && !app.races.is_running();
    if comes {
        read_one(app)?;
    }
    Ok(comes)
}

/// Reads an article, and likes one in ten.
fn read_one(app: &App) -> anyhow::Result<()> {
    let conn = &mut *app.reads.get()?;
    let articles: Vec<Article> = articles::table
        .select(Article::as_select())
        .order(articles::id.desc())
        .limit(20)
        .load(conn)?;
    // The newest ones have more readers.
    let place = rand::random::<f64>().powi(2) * articles.len() as f64;
    let Some(article) = articles.get(place as usize) else {
        return Ok(());
    };
    app.views.count(increment(views).of(article))?;
    if rand::random_ratio(1, 10) {
        let visitor = rand::random::<u64>().to_string();
        article.like(&visitor, today(), &mut *app.writes.get()?)?;
    }
    Ok(())
}
