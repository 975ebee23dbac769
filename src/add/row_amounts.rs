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
    /// Returns the amount of the counter at this place.
    pub(crate) fn get(&self, place: usize) -> i128 {
        match self {
            RowAmounts::One(amount) if place == 0 => i128::from(*amount),
            RowAmounts::One(_) => 0,
            RowAmounts::Many(amounts) => amounts.get(place).copied().unwrap_or_default(),
        }
    }

    /// Adds to the amount of the counter at this place.
    #[inline]
    pub(crate) fn add(&mut self, place: usize, amount: i64) {
        if let (RowAmounts::One(sum), 0) = (&mut *self, place) {
            if let Some(exact) = sum.checked_add(amount) {
                *sum = exact;
                return;
            }
        }
        *self.amount_mut(place) += i128::from(amount);
    }

    /// Adds all amounts of another row. `places` has the place in this row for each of its
    /// counters.
    pub(crate) fn append(&mut self, places: &[usize], other: &Self) {
        match other {
            RowAmounts::One(amount) => self.add(places[0], *amount),
            RowAmounts::Many(amounts) => {
                for (place, amount) in places.iter().zip(amounts) {
                    *self.amount_mut(*place) += amount;
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

    /// Makes room for the counter at this place, and returns its amount.
    fn amount_mut(&mut self, place: usize) -> &mut i128 {
        let known = match self {
            RowAmounts::One(_) => 1,
            RowAmounts::Many(amounts) => amounts.len(),
        };
        if known <= place || matches!(self, RowAmounts::One(_)) {
            let amounts = (0..known.max(place + 1)).map(|place| self.get(place));
            *self = RowAmounts::Many(amounts.collect());
        }
        match self {
            RowAmounts::Many(amounts) => &mut amounts[place],
            RowAmounts::One(_) => unreachable!("it was replaced"),
        }
    }
}

impl Default for RowAmounts {
    fn default() -> Self {
        RowAmounts::One(0)
    }
}
