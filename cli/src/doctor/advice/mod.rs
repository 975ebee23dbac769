//! From what was found to what to do.

mod holders;
mod table;
mod waits;

use super::report::{Advice, Report};
use super::target::Target;

pub fn advice(report: &Report, target: &Target) -> Vec<Advice> {
    let found = waits::Found::of(report);
    let mut advice = Vec::new();
    advice.extend(waits::correction(&found));
    advice.extend(waits::count_last(&found));
    advice.extend(holders::foreign_key(&found, target));
    advice.extend(holders::end_holder(report, target));
    advice.extend(holders::prepared(report));
    advice.extend(waits::slots(&found, report, target));
    advice.extend(waits::deadlock(report, target));
    advice.extend(waits::table_locks(report, target));
    advice.extend(table::one_writer(report, target));
    advice.extend(table::isolation(report, target));
    advice.extend(table::layout(report, target));
    advice.extend(table::vacuum(report, target));
    if !report.contention && report.is_blind() {
        advice.push(look_again());
    } else if !report.contention && advice.is_empty() && !report.missed_any() {
        advice.push(no_contention(report));
    }
    advice
}

fn look_again() -> Advice {
    Advice {
        name: "look_again",
        what: "Look again with the rights named above: who waits was not seen.".to_owned(),
        why: "without them there is no telling whether counters are what is slow".to_owned(),
        sql: Vec::new(),
    }
}

fn no_contention(report: &Report) -> Advice {
    let (what, why) = match &report.watch {
        None => (
            "Nobody waited at this look: look with --watch 30 while it is slow.",
            "one look says nothing of the time before and after it".to_owned(),
        ),
        Some(watch) => (
            if report.not_seen.is_empty() {
                "Counters are not what is slow, if it was slow while this watched."
            } else {
                "Nobody was seen to wait; what is not seen is named above."
            },
            format!(
                "{} looks in {} s saw nobody wait",
                watch.samples, watch.seconds
            ),
        ),
    };
    Advice {
        name: "none",
        what: what.to_owned(),
        why,
        sql: Vec::new(),
    }
}
