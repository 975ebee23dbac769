//! From what was found to what to do.

mod table;
mod waits;

use super::report::{Advice, Report};
use super::target::Target;

pub fn advice(report: &Report, target: &Target) -> Vec<Advice> {
    let found = waits::Found::of(report);
    let mut advice = Vec::new();
    advice.extend(waits::correction(&found));
    advice.extend(waits::count_last(&found));
    advice.extend(waits::foreign_key(&found, target));
    advice.extend(waits::end_holder(report, target));
    advice.extend(waits::slots(&found, report, target));
    advice.extend(waits::deadlock(report));
    advice.extend(waits::table_locks(report));
    advice.extend(table::one_writer(report, target));
    advice.extend(table::isolation(report, target));
    advice.extend(table::layout(report, target));
    advice.extend(table::vacuum(report, target));
    if !report.contention {
        advice.push(no_contention(report));
    }
    advice
}

fn no_contention(report: &Report) -> Advice {
    if report.is_blind() {
        return Advice {
            name: "look_again",
            what: "Look again with the rights named above: who waits was not seen.".to_owned(),
            why: "without them there is no telling whether counters are what is slow".to_owned(),
            sql: None,
        };
    }
    Advice {
        name: "none",
        what: "No contention seen: counters are not what is slow.".to_owned(),
        why: match &report.watch {
            Some(watch) => format!(
                "{} looks in {} s saw nobody wait",
                watch.samples, watch.seconds
            ),
            None => "this was one look; --watch 30 looks for longer, while it is slow".to_owned(),
        },
        sql: None,
    }
}
