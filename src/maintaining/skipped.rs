//! The rows that a run could not merge.

use std::collections::BTreeSet;
use std::fmt::Debug;

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};

use crate::layout::Layout;
use crate::maintaining::compact::Compacted;
use crate::maintaining::range::RowKey;

/// Rows that a run has passed and not merged.
pub(super) struct Skipped<K> {
    /// Most of them were locked by other transactions.
    pub(super) left: BTreeSet<RowKey<K>>,
    /// The first row of each sum that is out of range.
    pub(super) overflows: Vec<(RowKey<K>, Error)>,
    /// The number of rows whose day SQLite stores as another text than `YYYY-MM-DD`.
    pub(super) other_days: i64,
}

impl<K: Clone + Ord + Debug> Skipped<K> {
    pub(super) fn none() -> Self {
        Skipped {
            left: BTreeSet::new(),
            overflows: Vec::new(),
            other_days: 0,
        }
    }

    /// SQLite stores any value in any column. A key that sorts after the key that it is read as
    /// would be found again and again.
    pub(super) fn refuse_again<F>(
        &self,
        keys: &[RowKey<K>],
        layout: &Layout<F>,
    ) -> QueryResult<()> {
        let overflows: BTreeSet<_> = self.overflows.iter().map(|(key, _)| key).collect();
        let is_known = |key: &&RowKey<K>| self.left.contains(*key) || overflows.contains(key);
        match keys.iter().find(is_known) {
            None => Ok(()),
            Some(again) => Err(Error::QueryBuilderError(
                format!(
                    "SQLite stores a key of `{}` as another type than its column's and returns another \
                     key for it, so the rows after it cannot be merged: {}",
                    layout.name,
                    listed(std::slice::from_ref(again), layout)
                )
                .into(),
            )),
        }
    }

    /// What the run did, or the error if it skipped rows for good.
    pub(super) fn report<F>(self, layout: &Layout<F>, done: Compacted) -> QueryResult<Compacted> {
        let table = &layout.name;
        let mut problems = Vec::new();
        if let Some((_, error)) = self.overflows.first() {
            let rows: Vec<_> = self.overflows.iter().map(|(row, _)| row.clone()).collect();
            problems.push(format!(
                "{error}: the sum of the rows of `{table}` that are merged with these is out of the \
                 range of an i64: {}",
                listed(&rows, layout)
            ));
        }
        if self.other_days > 0 {
            problems.push(format!(
                "{rows} rows of `{table}` were skipped, because their day is not stored as \
                 YYYY-MM-DD: find them with SELECT * FROM {table} WHERE {day} IS NOT date({day})",
                rows = self.other_days,
                day = layout.day,
            ));
        }
        if problems.is_empty() {
            return Ok(done);
        }
        let message = format!("{}; of the other rows, {done}", problems.join("; "));
        Err(match self.overflows[..] {
            [] => Error::QueryBuilderError(message.into()),
            _ => Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message)),
        })
    }
}

/// The first few of them.
fn listed<F, K: Debug>(rows: &[RowKey<K>], layout: &Layout<F>) -> String {
    const FEW: usize = 5;
    let few = rows.iter().take(FEW).map(|(entity, day, slot)| {
        let entity = layout
            .entity
            .as_ref()
            .map(|name| format!("{name} {entity:?}, "));
        format!("{}{day}, slot {slot}", entity.unwrap_or_default())
    });
    let few = few.collect::<Vec<_>>().join("; ");
    match rows.len().saturating_sub(FEW) {
        0 => few,
        more => format!("{few}; and {more} more"),
    }
}
