//! Many looks at who waits.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Observed;
use super::report::{Elsewhere, Holder, Row, Seen, Wait, Watched};

const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// How many of the most frequent are told.
const MOST: usize = 10;

/// Whether Ctrl-C was pressed.
static STOPPED: AtomicBool = AtomicBool::new(false);

pub fn watch(database: &mut impl Observed, seconds: u64) -> Result<Watched> {
    stop_on_ctrl_c()?;
    eprintln!("watching for {seconds} s; Ctrl-C ends it and prints what was seen");
    let begun = Instant::now();
    let mut seen = Tally::default();
    let is_over = || begun.elapsed().as_secs() >= seconds || STOPPED.load(Ordering::Relaxed);
    // One look at least, on a busy machine too.
    while seen.samples == 0 || !is_over() {
        let waits = database.waits()?;
        let write_locked = database.is_write_locked()?;
        seen.add(waits, write_locked);
        if stderr().is_terminal() {
            let passed = begun.elapsed().as_secs();
            eprint!(
                "\rwatching: {passed} of {seconds} s, waits seen: {} ",
                seen.waits
            );
            stderr().flush()?;
        }
        sleep(BETWEEN_LOOKS);
    }
    if stderr().is_terminal() {
        eprintln!();
    }
    Ok(seen.into_watched(begun.elapsed().as_secs()))
}

/// The second one ends the command at once, as it otherwise would.
fn stop_on_ctrl_c() -> Result<()> {
    ctrlc::set_handler(|| {
        if STOPPED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot wait for Ctrl-C")
}

#[derive(Default)]
struct Tally {
    samples: usize,
    samples_with_contention: usize,
    waits: usize,
    most_at_once: usize,
    longest: Option<Wait>,
    rows: HashMap<Row, usize>,
    elsewhere: HashMap<Elsewhere, usize>,
    statements: HashMap<String, usize>,
    holders: HashMap<Holder, usize>,
    /// Those of the last look, by session.
    last: HashMap<i64, Wait>,
}

impl Tally {
    fn add(&mut self, waits: Vec<Wait>, write_locked: bool) {
        self.samples += 1;
        self.samples_with_contention += usize::from(write_locked || !waits.is_empty());
        self.most_at_once = self.most_at_once.max(waits.len());
        for wait in &waits {
            if !self
                .last
                .get(&wait.waiter.id)
                .is_some_and(|last| is_same(last, wait))
            {
                self.waits += 1;
                for row in &wait.rows {
                    *self.rows.entry(row.clone()).or_default() += 1;
                }
                if let Some(elsewhere) = &wait.elsewhere {
                    *self.elsewhere.entry(elsewhere.clone()).or_default() += 1;
                }
                if let Some(statement) = &wait.waiter.statement {
                    *self.statements.entry(statement.clone()).or_default() += 1;
                }
                for holder in wait.holders.iter().filter(|_| !wait.whole_table) {
                    *self.holders.entry(Holder::of(holder, wait)).or_default() += 1;
                }
            }
            if self
                .longest
                .as_ref()
                .is_none_or(|longest| longest.seconds < wait.seconds)
            {
                self.longest = Some(wait.clone());
            }
        }
        self.last = waits
            .into_iter()
            .map(|wait| (wait.waiter.id, wait))
            .collect();
    }

    fn into_watched(self, seconds: u64) -> Watched {
        Watched {
            seconds,
            samples: self.samples,
            samples_with_contention: self.samples_with_contention,
            waits: self.waits,
            most_at_once: self.most_at_once,
            longest: self.longest,
            rows: most(self.rows),
            elsewhere: most(self.elsewhere),
            statements: most(self.statements),
            holders: most(self.holders),
        }
    }
}

/// Whether a session still waits as it did at the last look, rather than again.
fn is_same(last: &Wait, now: &Wait) -> bool {
    now.seconds >= last.seconds
        && now.rows == last.rows
        && now.elsewhere == last.elsewhere
        && now.waiter.statement == last.waiter.statement
}

fn most<T: Ord + Hash>(counts: HashMap<T, usize>) -> Vec<Seen<T>> {
    let mut most: Vec<_> = counts
        .into_iter()
        .map(|(what, waits)| Seen { what, waits })
        .collect();
    most.sort_by(|a, b| b.waits.cmp(&a.waits).then_with(|| a.what.cmp(&b.what)));
    most.truncate(MOST);
    most
}
