//! The rows that a run did not merge.

use std::collections::BTreeSet;
use std::fmt::Debug;

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};

use crate::merge::compact::Compacted;
use crate::merge::range::RowKey;
use crate::shape::Shape;

/// The rows that a run has read and not merged.
pub(super) struct Skipped<K> {
    /// The rows of each batch in which a row was not merged, because another transaction had locked
    /// or deleted it.
    pub(super) left: BTreeSet<RowKey<K>>,
    /// For each sum that is out of range, the first of its rows, and the error.
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

    /// Fails if a row was read before. SQLite stores any value in any column. If a key is stored as a
    /// value that sorts after the key that is read for it, the run would read the row again and
    /// again.
    pub(super) fn refuse_again(&self, keys: &[RowKey<K>], shape: &Shape<'_>) -> QueryResult<()> {
        let overflows: BTreeSet<_> = self.overflows.iter().map(|(key, _)| key).collect();
        let is_known = |key: &&RowKey<K>| self.left.contains(*key) || overflows.contains(key);
        match keys.iter().find(is_known) {
            None => Ok(()),
            Some(again) => Err(Error::QueryBuilderError(
                format!(
                    "SQLite stores a key of `{}` as another type than its column's, and returns another \
                     key for it, so the rows after it cannot be merged: {}",
                    shape.label,
                    listed(std::slice::from_ref(again), shape)
                )
                .into(),
            )),
        }
    }

    /// Returns the result of the run, or an error if the run skipped rows that the next run cannot
    /// merge either.
    pub(super) fn report(self, shape: &Shape<'_>, done: Compacted) -> QueryResult<Compacted> {
        let table = shape.label;
        let mut problems = Vec::new();
        if let Some((_, error)) = self.overflows.first() {
            let rows: Vec<_> = self.overflows.iter().map(|(row, _)| row.clone()).collect();
            problems.push(format!(
                "{error}: the sum of the rows of `{table}` that are merged with these is out of the \
                 range of an i64: {}",
                listed(&rows, shape)
            ));
        }
        if self.other_days > 0 {
            problems.push(format!(
                "{rows} rows of `{table}` were skipped, because their day is not stored as \
                 YYYY-MM-DD: find them with SELECT * FROM {table} WHERE {day} IS NOT date({day})",
                rows = self.other_days,
                day = shape.day(),
            ));
        }
        if problems.is_empty() {
            return Ok(done);
        }
        let message = format!("{}; the other rows: {done}", problems.join("; "));
        Err(match self.overflows[..] {
            [] => Error::QueryBuilderError(message.into()),
            _ => Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message)),
        })
    }
}

/// Returns the first few rows as text.
fn listed<K: Debug>(rows: &[RowKey<K>], shape: &Shape<'_>) -> String {
    const FEW: usize = 5;
    let names: Vec<_> = shape.entity().iter().map(|name| name.0).collect();
    let names = names.join(", ");
    let few = rows
        .iter()
        .take(FEW)
        .map(|(entity, day, slot)| match &*names {
            "" => format!("{day}, slot {slot}"),
            names => format!("{names} {entity:?}, {day}, slot {slot}"),
        });
    let few = few.collect::<Vec<_>>().join("; ");
    match rows.len().saturating_sub(FEW) {
        0 => few,
        more => format!("{few}; and {more} more"),
    }
}
