//! The figures of a way: medians and sums over its rounds.

use serde::Serialize;

use crate::tally::Tally;
use crate::way::Way;
use crate::workload::Workload;

/// One way under one workload in one round.
pub struct Cell {
    pub way: Way,
    pub transactions_per_second: f64,
    pub tally: Tally,
}

/// One way under one workload.
#[derive(Serialize)]
pub struct Figures {
    pub way: Way,
    /// The median, and each round's.
    pub transactions_per_second: f64,
    pub rounds: Vec<f64>,
    /// Medians of the rounds' ratios.
    pub ratio_to_no_counter: Option<f64>,
    pub ratio_to_ceiling: Option<f64>,
    pub ratio_to_one_row: Option<f64>,
    /// Of whole transactions, with their retries.
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub worst_ms: f64,
    pub deadlocks: u64,
    pub aborts: u64,
}

#[derive(Serialize)]
pub struct WorkloadFigures {
    pub name: String,
    #[serde(flatten)]
    pub workload: Workload,
    pub ways: Vec<Figures>,
}

impl WorkloadFigures {
    pub fn of(&self, way: Way) -> Option<&Figures> {
        self.ways.iter().find(|figures| figures.way == way)
    }
}

/// The figures of each of the `ways`, from rounds that have a cell for each.
pub fn figures(ways: &[Way], rounds: &[Vec<Cell>]) -> anyhow::Result<Vec<Figures>> {
    let each = |way: Way| {
        rounds
            .iter()
            .filter_map(move |cells| cells.iter().find(|cell| cell.way == way))
    };
    let speeds = |way| -> Vec<f64> { each(way).map(|cell| cell.transactions_per_second).collect() };
    let ratio = |way, other| {
        let ratios = speeds(way).into_iter().zip(speeds(other));
        median(ratios.map(|(one, other)| one / other).collect())
    };
    ways.iter()
        .map(|&way| {
            let counts_alike = way != Way::HundredAtOnce;
            let mut tally = Tally::default();
            for cell in each(way) {
                tally.add(&cell.tally)?;
            }
            Ok(Figures {
                way,
                transactions_per_second: median(speeds(way)).unwrap_or_default(),
                rounds: speeds(way),
                ratio_to_no_counter: ratio(way, Way::NoCounter).filter(|_| counts_alike),
                ratio_to_ceiling: ratio(way, Way::Ceiling).filter(|_| counts_alike),
                ratio_to_one_row: ratio(way, Way::OneRow).filter(|_| counts_alike),
                p50_ms: tally.latencies.quantile(0.5),
                p99_ms: tally.latencies.quantile(0.99),
                worst_ms: tally.latencies.quantile(1.0),
                deadlocks: tally.deadlocks,
                aborts: tally.aborts,
            })
        })
        .collect()
}

/// `None` where it is not finite: there is no ratio to a way that stalls for whole rounds.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0).filter(|median| median.is_finite())
}
