//! What the templates need to draw counts, in the units of the counts.

use chrono::NaiveDate;

/// Days, or the first days of longer periods, and their counts.
pub type Series = Vec<(NaiveDate, i64)>;

/// The greatest count; at least 1.
pub fn most(bars: &Series) -> i64 {
    bars.iter().map(|bar| bar.1).max().unwrap_or(1).max(1)
}

/// The end of an axis: the greatest count, rounded up to an even number such as 4, 10, 40 or 600.
pub fn top(bars: &Series) -> i64 {
    let step = 10_i64.pow(most(bars).ilog10()).max(2);
    most(bars).saturating_add(step - 1) / step * step
}

pub mod filters {
    /// Writes 12345 as 12,345.
    #[askama::filter_fn]
    pub fn number(count: impl ToString, _: &dyn askama::Values) -> askama::Result<String> {
        let mut text = count.to_string();
        for place in (1..text.len()).rev().skip(2).step_by(3) {
            text.insert(place, ',');
        }
        Ok(text)
    }
}
