//! What the templates need to draw counts.

use chrono::NaiveDate;

/// Days, or the first days of months, and their counts.
pub type Series = Vec<(NaiveDate, i64)>;

/// The end of an axis: the greatest count, rounded up to an even number such as 4, 10, 40 or 600.
pub fn top(bars: &Series) -> i64 {
    let most = bars.iter().map(|bar| bar.1).fold(1, i64::max);
    let step = 10_i64.pow(most.ilog10()).max(2);
    most.saturating_add(step - 1) / step * step
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

    /// How dark the cell of a row is: 1 to 5.
    #[askama::filter_fn]
    pub fn shade(count: &i64, _: &dyn askama::Values) -> askama::Result<u32> {
        Ok(((*count).max(1).ilog2() / 2 + 1).min(5))
    }
}
