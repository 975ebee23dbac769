//! The amounts of one unwritten row.

/// The amount for each counter of a table. A counter that is missing has 0.
///
/// Most programs count only one counter of a table, so a row with one takes only 16 bytes.
#[derive(Debug, Clone)]
pub(crate) enum RowAmounts {
    /// The amount for the first counter.
    One(i64),
    /// The amounts for several counters, or a sum that doesn't fit into an `i64`: later amounts can
    /// bring it back into range.
    Many(Box<[i128]>),
}

impl RowAmounts {
    /// Returns the amount of the counter with this index.
    pub(crate) fn get(&self, counter: usize) -> i128 {
        match self {
            RowAmounts::One(amount) if counter == 0 => i128::from(*amount),
            RowAmounts::One(_) => 0,
            RowAmounts::Many(amounts) => amounts.get(counter).copied().unwrap_or_default(),
        }
    }

    /// Adds to the amount of the counter with this index.
    #[inline]
    pub(crate) fn add(&mut self, counter: usize, amount: i64) {
        if let RowAmounts::One(sum) = self {
            if let (0, Some(exact_sum)) = (counter, sum.checked_add(amount)) {
                *sum = exact_sum;
                return;
            }
        }
        *self.amount_mut(counter) += i128::from(amount);
    }

    /// Adds all amounts of another row. `indexes[i]` is the index in this row of the other row's
    /// counter `i`.
    pub(crate) fn append(&mut self, indexes: &[usize], other: &Self) {
        match other {
            RowAmounts::One(amount) => self.add(indexes[0], *amount),
            RowAmounts::Many(amounts) => {
                for (index, amount) in indexes.iter().zip(amounts) {
                    *self.amount_mut(*index) += amount;
                }
            }
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        match self {
            RowAmounts::One(amount) => *amount == 0,
            RowAmounts::Many(amounts) => amounts.iter().all(|amount| *amount == 0),
        }
    }

    /// Returns the amount of the counter with this index, to be changed. Makes this a `Many` that
    /// has room for it.
    fn amount_mut(&mut self, counter: usize) -> &mut i128 {
        let (is_many, len) = match self {
            RowAmounts::One(_) => (false, 1),
            RowAmounts::Many(amounts) => (true, amounts.len()),
        };
        if !is_many || len <= counter {
            let counters = 0..len.max(counter + 1);
            let amounts = counters.map(|counter| self.get(counter)).collect();
            *self = RowAmounts::Many(amounts);
        }
        match self {
            RowAmounts::Many(amounts) => &mut amounts[counter],
            RowAmounts::One(_) => unreachable!("it was replaced"),
        }
    }
}

impl Default for RowAmounts {
    fn default() -> Self {
        RowAmounts::One(0)
    }
}
