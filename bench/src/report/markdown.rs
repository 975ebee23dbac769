//! The results as tables.

use std::fmt::Write;

use crate::figures::{Figures, WorkloadFigures};
use crate::measure::Measured;
use crate::report::Report;
use crate::table::{Table, three_digits};
use crate::{merge, read};

pub fn report(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = format!(
        "# Results\n\n{}, commit {}. {}, {} cores, {} of memory, {}, {}. \
         The client and the server share this machine.\n",
        machine.date,
        machine.git_commit,
        machine.cpu,
        machine.cores,
        machine.memory,
        machine.os,
        machine.kernel,
    );
    for (names, what) in [
        (&report.skipped, "Not measured"),
        (&report.failed, "Failed"),
    ] {
        if !names.is_empty() {
            text += &format!("\n{what}: {}.\n", names.join(", "));
        }
    }
    for measured in &report.databases {
        text += &database(measured);
    }
    text
}

fn database(measured: &Measured) -> String {
    let settings: Vec<_> = measured
        .settings
        .iter()
        .map(|setting| format!("`{} = {}`", setting.name, setting.value))
        .collect();
    let mut text = format!("\n## {}\n\n{}\n", measured.version, settings.join(", "));
    let mut section = |heading: &str, table: Table| {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n### {heading}\n\n{table}");
    };
    for workload in &measured.workloads {
        section(&workload.name, ways(workload));
    }
    if let Some(costs) = &measured.read {
        section(
            "Reading a total, as a multiple of reading one row",
            read::table(costs),
        );
    }
    if let Some(cost) = &measured.merge {
        section("Merging old rows", merge::table(cost));
    }
    text
}

fn ways(workload: &WorkloadFigures) -> Table {
    let mut table = Table::new([
        "way",
        "transactions/s",
        "to no counter",
        "to ceiling",
        "to one row",
        "p50 ms",
        "p99 ms",
        "worst ms",
        "deadlocks",
        "aborts",
    ]);
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), three_digits);
    for figures in &workload.ways {
        let Figures {
            way,
            transactions_per_second,
            deadlocks,
            aborts,
            ..
        } = figures;
        table.row(vec![
            way.name().to_owned(),
            format!("{transactions_per_second:.0}"),
            ratio(figures.ratio_to_no_counter),
            ratio(figures.ratio_to_ceiling),
            ratio(figures.ratio_to_one_row),
            three_digits(figures.p50_ms),
            three_digits(figures.p99_ms),
            three_digits(figures.worst_ms),
            deadlocks.to_string(),
            aborts.to_string(),
        ]);
    }
    table
}
