//! The rows that a run could not merge.

use std::collections::BTreeSet;
use std::fmt::Debug;

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};

use crate::maintaining::compact::Compacted;
use crate::maintaining::layout::Layout;
use crate::maintaining::rows::RowKey;

/// Rows that a run has passed and not merged.
pub(super) struct Skipped<K> {
    /// Most of them somebody else had locked.
    pub(super) left: BTreeSet<RowKey<K>>,
    pub(super) overflows: Vec<(RowKey<K>, Error)>,
}

impl<K: Clone + Ord + Debug> Skipped<K> {
    pub(super) fn none() -> Self {
        Skipped {
            left: BTreeSet::new(),
            overflows: Vec::new(),
        }
    }

    /// SQLite stores any value in any column. A key that is read as a smaller one than it is
    /// sorted as would be found again and again.
    pub(super) fn refuse_again<F>(
        &self,
        keys: &[RowKey<K>],
        layout: &Layout<F>,
    ) -> QueryResult<()> {
        match keys.iter().find(|key| self.left.contains(key)) {
            None => Ok(()),
            Some(again) => Err(Error::QueryBuilderError(
                format!(
                    "a key of `{}` is not stored as its column's type, so it is read as another \
                     one, and the rows after it cannot be merged: {}",
                    layout.name,
                    listed(std::slice::from_ref(again), layout)
                )
                .into(),
            )),
        }
    }

    /// What the run did, or the error of what it could not do.
    pub(super) fn report<F>(self, layout: &Layout<F>, done: Compacted) -> QueryResult<Compacted> {
        let Some((_, first)) = self.overflows.first() else {
            return Ok(done);
        };
        let rows: Vec<_> = self.overflows.iter().map(|(row, _)| row.clone()).collect();
        let message = format!(
            "{first}: the rows of `{}` that are merged with these do not add up to an i64: {}; \
             of all others, {done}",
            layout.name,
            listed(&rows, layout)
        );
        Err(Error::DatabaseError(
            DatabaseErrorKind::Unknown,
            Box::new(message),
        ))
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
