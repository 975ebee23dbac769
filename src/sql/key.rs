//! Keys of entities, whatever their types are.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryId};

/// Values of rows, column by column: bind values, or expressions of one row.
pub trait Values<DB: Backend> {
    /// The number of columns.
    #[doc(hidden)]
    fn columns(&self) -> usize;

    /// Writes the value of a column of one row.
    #[doc(hidden)]
    fn push<'b>(
        &'b self,
        column: usize,
        row: usize,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>;

    /// Writes the values of a column as an array, for a backend that has
    /// [arrays](super::CounterBackend::HAS_ARRAYS). One row is never an array.
    #[doc(hidden)]
    fn push_array<'b>(
        &'b self,
        column: usize,
        rows: Range<usize>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        self.push(column, rows.start, out)
    }
}

/// The entity, or the entities, whose key is `K`, or begins with it. `Types` are the SQL types of
/// its columns.
pub struct KeyPrefix<Types, K>(pub(crate) K, PhantomData<fn() -> Types>);

/// All entities: a prefix without a column.
pub type AllEntities = KeyPrefix<(), ()>;

impl<Types, K> KeyPrefix<Types, K> {
    pub(crate) fn new(key: K) -> Self {
        KeyPrefix(key, PhantomData)
    }
}

impl<Types, K: Clone> Clone for KeyPrefix<Types, K> {
    fn clone(&self) -> Self {
        KeyPrefix::new(self.0.clone())
    }
}
impl<Types, K: Copy> Copy for KeyPrefix<Types, K> {}

impl<Types, K: fmt::Debug> fmt::Debug for KeyPrefix<Types, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<Types, K: PartialEq> PartialEq for KeyPrefix<Types, K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<Types, K: Eq> Eq for KeyPrefix<Types, K> {}

impl<Types, K: PartialOrd> PartialOrd for KeyPrefix<Types, K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
}
impl<Types, K: Ord> Ord for KeyPrefix<Types, K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

// The SQL does not depend on the Rust type of the key.
impl<Types: 'static, K> QueryId for KeyPrefix<Types, K> {
    type QueryId = KeyPrefix<Types, ()>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

/// Many keys, whose columns have these SQL types: `C` has their values, column by column.
#[derive(Debug)]
pub struct Keys<C> {
    pub(crate) columns: C,
    /// The number of keys.
    pub(crate) len: usize,
}
