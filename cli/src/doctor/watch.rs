//! Many looks, added up.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::report::{Seen, Watch};
use crate::locks::{Look, Wait};

const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// How many of the most frequent values are kept.
const MOST: usize = 10;

/// Whether Ctrl-C was pressed.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Looks for so many seconds, or once. Returns the last look, too.
pub fn watch(
    seconds: Option<u64>,
    mut look: impl FnMut() -> Result<Look>,
) -> Result<(Look, Watch)> {
    if let Some(seconds) = seconds {
        stop_on_ctrl_c()?;
        eprintln!("watching for {seconds} s; Ctrl-C ends it and prints what was seen");
    }
    let total = seconds.unwrap_or(0);
    let begun = Instant::now();
    let mut watch = Watch::default();
    let mut last = Look::default();
    loop {
        let now = look()?;
        watch.add(&now, &last);
        last = now;
        watch.seconds = begun.elapsed().as_secs();
        let is_over = watch.seconds >= total || STOPPED.load(Ordering::Relaxed);
        if seconds.is_some() && stderr().is_terminal() {
            let end = if is_over { "\n" } else { "" };
            eprint!(
                "\r{} of {total} s, waits seen: {} {end}",
                watch.seconds, watch.waits
            );
        }
        if is_over {
            // 0 stands for a single look.
            watch.seconds = watch.seconds.max(total.min(1));
            watch.keep_most();
            return Ok((last, watch));
        }
        sleep(BETWEEN_LOOKS);
    }
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

impl Watch {
    fn add(&mut self, look: &Look, last: &Look) {
        self.looks += 1;
        self.looks_with_contention += usize::from(look.has_contention());
        self.most_at_once = self.most_at_once.max(look.waits.len());
        self.most_table_waits = self.most_table_waits.max(look.clients.table_waits);
        for wait in &look.waits {
            let longest = self.longest.as_ref();
            if longest.is_none_or(|longest| longest.seconds < wait.seconds) {
                self.longest = Some(wait.clone());
            }
            if last.waits.iter().any(|last| is_same(last, wait)) {
                continue;
            }
            self.waits += 1;
            // Of several rows it is not known which one it waits for.
            if let [row] = &*wait.rows {
                count(&mut self.rows, [row]);
            }
            count(&mut self.parent_tables, &wait.parent_table);
            for holder in &wait.holders {
                count(&mut self.holders, [&holder.activity]);
            }
        }
    }

    fn keep_most(&mut self) {
        most(&mut self.rows);
        most(&mut self.parent_tables);
        most(&mut self.holders);
    }
}

/// Whether a session still waits as it did at the last look, rather than again.
fn is_same(last: &Wait, now: &Wait) -> bool {
    now.waiter.id == last.waiter.id
        && now.seconds >= last.seconds
        && now.rows == last.rows
        && now.parent_table == last.parent_table
        && now.waiter.activity.statement == last.waiter.activity.statement
}

fn count<'v, T: Clone + PartialEq + 'v>(
    counts: &mut Vec<Seen<T>>,
    values: impl IntoIterator<Item = &'v T>,
) {
    for value in values {
        match counts.iter_mut().find(|seen| seen.value == *value) {
            Some(seen) => seen.waits += 1,
            None => counts.push(Seen {
                value: value.clone(),
                waits: 1,
            }),
        }
    }
}

fn most<T: Ord>(counts: &mut Vec<Seen<T>>) {
    counts.sort_by(|a, b| b.waits.cmp(&a.waits).then_with(|| a.value.cmp(&b.value)));
    counts.truncate(MOST);
}
