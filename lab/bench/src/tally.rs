//! How many transactions ran, how long each took, and what failed.

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;

#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Transactions that committed after the warm-up and before the end.
    pub in_time: u64,
    /// Transactions that committed, also in the warm-up or after the end.
    pub committed: u64,
    /// How long each transaction after the warm-up took, also one that had not committed at the
    /// end.
    pub latencies: Latencies,
    pub deadlocks: u64,
    /// Serialization failures and lock timeouts.
    pub aborts: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) -> Result<()> {
        self.in_time += other.in_time;
        self.committed += other.committed;
        self.latencies.add(&other.latencies)?;
        self.deadlocks += other.deadlocks;
        self.aborts += other.aborts;
        Ok(())
    }
}

/// The times from BEGIN to the end of COMMIT, in microseconds.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record(time.as_micros() as u64);
    }

    pub fn add(&mut self, other: &Latencies) -> Result<()> {
        Ok(self.0.add(&other.0)?)
    }

    pub fn number(&self) -> u64 {
        self.0.len()
    }

    /// Returns a quantile, in milliseconds.
    pub fn quantile(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e3
    }
}

impl Default for Latencies {
    fn default() -> Self {
        // Up to ten minutes, with three digits.
        Latencies(Histogram::new_with_bounds(1, 600_000_000, 3).expect("valid bounds"))
    }
}
