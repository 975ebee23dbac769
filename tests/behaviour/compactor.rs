//! Merging in the background.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::result::ConnectionError;
use diesel_counters::compactor::CompactorBuilder;
use diesel_counters::compactor::{Done, Run};
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, Compactor, Period};
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, views};
use diesel_counters_tests::schema::{articles, site_counters};

use super::compacting::{insert_row, with_slots};
use super::{PATIENCE, day, rows, wait_until};
use crate::{Conn, TestDatabase, write_transaction};

/// A compactor of a database that is away while this is true.
fn flaky(database: &TestDatabase, is_away: &Arc<AtomicBool>) -> CompactorBuilder<Conn> {
    let (url, is_away) = (database.url(), Arc::clone(is_away));
    Compactor::builder(move || match is_away.load(SeqCst) {
        true => Err(ConnectionError::BadConnection("it is away".into())),
        false => Conn::establish(&url),
    })
}

fn compactor(database: &TestDatabase) -> CompactorBuilder<Conn> {
    flaky(database, &Arc::default())
}

/// The work of a run, and how many rows it merged, if it had a connection.
type Said = (String, Option<u64>);
type Runs = Receiver<Result<Said, String>>;

/// A compactor that runs again and again, and what it says.
fn start(builder: CompactorBuilder<Conn>) -> (Compactor, Runs) {
    let (said, runs) = channel();
    let compactor = builder
        .compact(article_counters::table)
        .fold(site_counters::table, Period::Total, 30)
        .every(Duration::from_millis(5))
        .on_run(move |run| {
            let merged = match &run.result {
                Ok(Done::Compacted(done)) => Ok(Some(done.merged)),
                Err(BackgroundError::Database(_)) if !is_passing(run) => Err(run.to_string()),
                _ => Ok(None),
            };
            // Nobody listens when the test is over.
            let _ = said.send(merged.map(|merged| (run.work.clone(), merged)));
        })
        .start()
        .unwrap();
    (compactor, runs)
}

/// The last one is SQLite's, without a busy timeout.
fn is_passing(run: &Run) -> bool {
    let text = run.to_string().to_lowercase();
    let texts = "terminat|closed|gone away|lost connection|killed|interrupted|database is locked";
    texts.split('|').any(|part| text.contains(part))
}

/// Waits for a run that is like this.
fn wait_for(runs: &Runs, is: impl Fn(&Said) -> bool) -> Said {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let run = runs.recv_timeout(PATIENCE).expect("it ended, or hangs");
        let run = run.expect("no run fails");
        if is(&run) {
            return run;
        }
    }
    panic!("there was no such run");
}

#[test]
fn it_merges_what_there_is_each_time() {
    let (database, mut conn, article) = TestDatabase::with_article();
    let (_compactor, runs) = start(compactor(&database));
    for slot in 1..=3 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
        let merged = wait_for(&runs, |(work, merged)| {
            work == "compact article_counters" && merged.is_some_and(|rows| rows > 0)
        });
        assert_eq!(merged.1, Some(1));
    }
    assert_eq!(rows(&article, &mut conn).len(), 1);

    let of_three_slots = [1, 2, 3].map(|slot| {
        (
            site_counters::day.eq(day(2020, 1, 1)),
            site_counters::slot.eq(slot),
            site_counters::hits.eq(1),
            site_counters::errors.eq(0),
        )
    });
    // At once: beside a second one, SQLite would fail the run that has folded the first.
    write_transaction(&mut conn, |conn| {
        diesel::insert_into(site_counters::table)
            .values(&of_three_slots)
            .execute(conn)
    })
    .unwrap();
    let folded = wait_for(&runs, |(work, folded)| {
        work == "fold site_counters into total" && folded.is_some_and(|rows| rows > 0)
    });
    assert_eq!(folded.1, Some(3));
    let undated = site_counters::table.select((site_counters::day, site_counters::hits));
    assert_eq!(undated.load(&mut conn), Ok(vec![(day(1970, 1, 1), 3_i64)]));
}

#[test]
fn it_copies_the_last_days_and_folds_in_steps() {
    let (database, mut conn, article) = TestDatabase::with_article();
    for on in [day(2020, 1, 1), day(2020, 1, 2), day(2020, 2, 2)] {
        insert_row(1, on, 1, (5, 0, 0), &mut conn);
    }
    article.incr_counter(views, &mut conn).unwrap();
    let (said, runs) = channel();
    let compactor = compactor(&database)
        .fold(article_counters::table, Period::Month, 90)
        .materialize(|| {
            let first = super::utc_today() - chrono::Days::new(89);
            Article::materialize(views, articles::total_views).between(first..)
        })
        .fold(article_counters::table, Period::Year, 730)
        .every(Duration::from_millis(5))
        .on_run(move |run| drop(said.send(run.to_string())))
        .start()
        .unwrap();
    let held = articles::table.find(1).select(articles::total_views);
    let is_done = wait_until(|| {
        let rows = rows(&article, &mut conn);
        let is_folded = rows.len() == 2 && rows[0].day == day(2020, 1, 1) && rows[0].views == 15;
        is_folded && held.first::<i64>(&mut conn) == Ok(1)
    });
    compactor.stop();
    assert!(is_done);
    let copied = "materialize article_counters into total_views: 1 rows written";
    let runs: Vec<_> = runs.iter().collect();
    assert!(runs.iter().any(|run| run == copied), "{runs:?}");
    for period in ["month", "year"] {
        let folded = format!("fold article_counters into {period}: ");
        assert!(runs.iter().any(|run| run.starts_with(&folded)), "{runs:?}");
    }
}

#[test]
fn what_it_will_do_can_be_shown() {
    let builder = compactor(&TestDatabase::create()).compact(article_counters::table);
    let shown = format!("{builder:?}");
    assert!(shown.contains("compact article_counters"), "{shown}");
}

#[test]
fn it_stops_when_it_is_told_to_or_dropped() {
    let stopped = |compactor: Compactor| Some(compactor).inspect(Compactor::stop);
    for end in [stopped, |_| None] {
        let (database, mut conn, article) = TestDatabase::with_article();
        let (compactor, runs) = start(compactor(&database));
        wait_for(&runs, |_| true);
        let _stopped = end(compactor);
        // Its callback is gone, and with it the other end.
        while runs.recv().is_ok() {}
        insert_row(1, day(2026, 3, 1), 1, (1, 0, 0), &mut conn);
        assert_eq!(rows(&article, &mut conn)[0].slot, 1);
    }
}

#[test]
fn it_stops_between_two_batches_of_a_long_run() {
    let (conn, database, article) = &mut with_slots(1000);
    let compactor = compactor(database).compact(article_counters::table);
    drop(compactor.start().unwrap());
    // However far it came, it left nothing half done.
    assert_eq!(article.counter_value(views, conn), Ok(1000));
}

#[test]
fn it_survives_a_database_that_goes_away_and_comes_back() {
    let (database, mut conn, article) = TestDatabase::with_article();
    let is_away = Arc::new(AtomicBool::new(false));
    let (_compactor, runs) = start(flaky(&database, &is_away));
    wait_for(&runs, |(_, merged)| merged.is_some());

    is_away.store(true, SeqCst);
    wait_for(&runs, |(_, merged)| merged.is_none());

    insert_row(1, day(2026, 3, 1), 1, (1, 0, 0), &mut conn);
    is_away.store(false, SeqCst);
    wait_for(&runs, |&(_, merged)| merged == Some(1));
    assert_eq!(rows(&article, &mut conn)[0].slot, 0);
}

#[test]
fn it_survives_connections_that_are_killed() {
    let (database, mut conn, article) = TestDatabase::with_article();
    let (_compactor, runs) = start(compactor(&database));
    for slot in 1..=20 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
        crate::kill_others(&mut conn);
        wait_for(&runs, |&(_, merged)| merged.is_some());
    }
    let left = || compact(article_counters::table);
    assert!(wait_until(|| left().dry_run(&mut conn).unwrap().left == 0));
    assert_eq!(article.counter_value(views, &mut conn), Ok(20));
}

#[test]
fn its_own_merges_may_be_told_to_stop_too() {
    let (conn, database, article) = &mut with_slots(3);
    let (said, runs) = channel();
    let stopped = || compact(article_counters::table).batch(1).stop_when(|| true);
    let builder = compactor(database).merge(stopped);
    let builder = builder.on_run(move |run| said.send(run.to_string()).unwrap());
    let _compactor = builder.start().unwrap();
    let said = runs.recv_timeout(PATIENCE).unwrap();
    let merged_none = "compact article_counters: 0 rows merged";
    assert!(said.starts_with(merged_none), "{said}");
    assert_eq!(rows(article, conn).len(), 3);
}

#[test]
fn it_may_be_dropped_in_its_own_on_run() {
    let (database, _conn, _article) = TestDatabase::with_article();
    let itself = Arc::new(Mutex::new(None));
    let of_the_run = Arc::clone(&itself);
    let (said, runs) = channel();
    let mut held = itself.lock().unwrap();
    *held = compactor(&database)
        .compact(article_counters::table)
        .every(Duration::from_millis(5))
        .on_run(move |_| {
            drop(of_the_run.lock().unwrap().take());
            said.send(()).unwrap();
        })
        .start()
        .ok();
    assert!(held.is_some());
    drop(held);
    let ended = Err(RecvTimeoutError::Disconnected);
    let said = [(); 2].map(|()| runs.recv_timeout(PATIENCE));
    assert_eq!(said, [Ok(()), ended]);
}

/// Once in a run, and once in `on_run`.
#[test]
fn a_panic_of_the_application_ends_no_compactor() {
    let (conn, database, article) = &mut with_slots(2);
    let (said, runs) = channel();
    let panics = AtomicBool::new(true);
    let compactor = compactor(database)
        .merge(move || {
            // The first call is for the name of the table.
            compact(article_counters::table).stop_when(|| panic!("as the test wants"))
        })
        .compact(article_counters::table)
        .every(Duration::from_millis(5))
        .on_run(move |run| {
            let _ = said.send(run.to_string());
            assert!(!panics.swap(false, SeqCst), "as the test wants");
        })
        .start()
        .unwrap();
    let panicked = "compact article_counters: panicked: as the test wants";
    assert_eq!(runs.recv_timeout(PATIENCE).as_deref(), Ok(panicked));
    assert!(wait_until(|| rows(article, conn).len() == 1));
    compactor.stop();
}

/// As if no day were kept, or each that a `NaiveDate` can be, and more.
#[test]
fn any_number_of_days_can_be_kept() {
    let greatest = [31, 32, 63, 64].map(|bits| (u64::MAX >> (64 - bits), 0));
    for (days, folded) in [(0, 2), (1, 1)].into_iter().chain(greatest) {
        let (database, mut conn, article) = TestDatabase::with_article();
        let today = super::utc_today();
        for ago in [0, 1, 2] {
            insert_row(1, today - chrono::Days::new(ago), 0, (1, 0, 0), &mut conn);
        }
        let (said, runs) = channel();
        let builder = compactor(&database).fold(article_counters::table, Period::Total, days);
        let builder = builder.on_run(move |run| said.send(run.to_string()).unwrap());
        let compactor = builder.every(Duration::MAX).start().unwrap();
        let run = runs.recv_timeout(PATIENCE).unwrap();
        drop(compactor);
        assert!(run.contains(&format!(" {folded} rows merged")), "{run}");
        let kept = rows(&article, &mut conn).len();
        assert_eq!(kept, 3 - folded + usize::from(folded > 0), "{days}");
    }
}
