//! The amounts of one row that is not written yet.

/// The amount of each counter of a table. A counter that is missing has 0.
///
/// Most programs count one counter of a table, so a row that has no more takes 16 bytes.
#[derive(Debug, Clone)]
pub(crate) enum RowAmounts {
    /// Of the first counter.
    One(i64),
    /// Of several counters, or a sum that no `i64` has: later amounts can bring it back.
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
        *self.many(place) += i128::from(amount);
    }

    /// Adds all amounts of another row, whose counters are at these places of this one.
    pub(crate) fn append(&mut self, places: &[usize], other: &Self) {
        match other {
            RowAmounts::One(amount) => self.add(places[0], *amount),
            RowAmounts::Many(amounts) => {
                for (place, amount) in places.iter().zip(amounts) {
                    *self.many(*place) += amount;
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

    /// Makes room for this place, and returns its amount.
    fn many(&mut self, place: usize) -> &mut i128 {
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
