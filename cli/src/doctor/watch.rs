//! Many looks, added up.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::report::{Holder, Look, ParentRow, Row, Seen, Wait, Watched};

const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// How many of the most frequent values are kept.
const MOST: usize = 10;

/// Whether Ctrl-C was pressed.
static STOPPED: AtomicBool = AtomicBool::new(false);

pub fn watch(seconds: u64, look: &mut impl FnMut() -> Result<Look>) -> Result<Watched> {
    stop_on_ctrl_c()?;
    eprintln!("watching for {seconds} s; Ctrl-C ends it and prints what was seen");
    let begun = Instant::now();
    let mut tally = Tally::default();
    let is_over = || begun.elapsed().as_secs() >= seconds || STOPPED.load(Ordering::Relaxed);
    // One look at least, on a busy machine too.
    while tally.looks == 0 || !is_over() {
        tally.add(look()?);
        if stderr().is_terminal() {
            let passed = begun.elapsed().as_secs();
            eprint!(
                "\rwatching: {passed} of {seconds} s, waits seen: {} ",
                tally.waits
            );
            stderr().flush()?;
        }
        sleep(BETWEEN_LOOKS);
    }
    if stderr().is_terminal() {
        eprintln!();
    }
    Ok(tally.into_watched(begun.elapsed().as_secs()))
}

/// The second one ends the command at once, as the first one does otherwise.
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
    looks: usize,
    looks_with_contention: usize,
    waits: usize,
    most_at_once: usize,
    table_waits: usize,
    longest: Option<Wait>,
    rows: HashMap<Row, usize>,
    parent_rows: HashMap<ParentRow, usize>,
    statements: HashMap<String, usize>,
    holders: HashMap<Holder, usize>,
    /// The waits of the last look, by session.
    last: HashMap<i64, Wait>,
}

impl Tally {
    fn add(&mut self, look: Look) {
        self.looks += 1;
        self.looks_with_contention += usize::from(look.has_contention());
        self.most_at_once = self.most_at_once.max(look.waits.len());
        self.table_waits = self.table_waits.max(look.table_waits);
        for wait in &look.waits {
            let last = self.last.get(&wait.waiter.id);
            if !last.is_some_and(|last| is_same(last, wait)) {
                self.waits += 1;
                count(&mut self.rows, &wait.rows);
                count(&mut self.parent_rows, &wait.parent_row);
                count(&mut self.statements, &wait.waiter.statement);
                let holders: Vec<_> = wait.holders.iter().map(Holder::of).collect();
                count(&mut self.holders, &holders);
            }
            let longest = self.longest.as_ref();
            if longest.is_none_or(|longest| longest.seconds < wait.seconds) {
                self.longest = Some(wait.clone());
            }
        }
        let waits = look.waits.into_iter();
        self.last = waits.map(|wait| (wait.waiter.id, wait)).collect();
    }

    fn into_watched(self, seconds: u64) -> Watched {
        Watched {
            seconds,
            looks: self.looks,
            looks_with_contention: self.looks_with_contention,
            waits: self.waits,
            most_at_once: self.most_at_once,
            table_waits: self.table_waits,
            longest: self.longest,
            rows: most(self.rows),
            parent_rows: most(self.parent_rows),
            statements: most(self.statements),
            holders: most(self.holders),
        }
    }
}

/// Whether a session still waits as it did at the last look, rather than again.
fn is_same(last: &Wait, now: &Wait) -> bool {
    now.seconds >= last.seconds
        && now.rows == last.rows
        && now.parent_row == last.parent_row
        && now.waiter.statement == last.waiter.statement
}

fn count<'v, T>(counts: &mut HashMap<T, usize>, values: impl IntoIterator<Item = &'v T>)
where
    T: Clone + Eq + Hash + 'v,
{
    for value in values {
        *counts.entry(value.clone()).or_default() += 1;
    }
}

fn most<T: Ord>(counts: HashMap<T, usize>) -> Vec<Seen<T>> {
    let seen = counts
        .into_iter()
        .map(|(value, waits)| Seen { value, waits });
    let mut most: Vec<_> = seen.collect();
    most.sort_by(|a, b| b.waits.cmp(&a.waits).then_with(|| a.value.cmp(&b.value)));
    most.truncate(MOST);
    most
}
