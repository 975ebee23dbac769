//! The entities that a statement reads or writes.

use diesel::backend::Backend;
use diesel::query_builder::{Query, QueryFragment, QueryId};

use crate::shape::Name;
use crate::sql::{CounterBackend, Dialect, Keys, One, Sql, Values, fragment, list, row, sql};
use crate::typed::key::{BindKey, KeyTypes};

/// The entities that a statement reads or writes.
pub trait Entities<DB: Backend> {
    /// A condition on the first columns of `entity`: `"article_id" = ?`.
    fn condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>>;
}

/// All entities.
impl<DB: Backend> Entities<DB> for () {
    fn condition<'b>(&'b self, _: Dialect, _: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        None
    }
}

impl<Types, K, DB> Entities<DB> for One<Types, K>
where
    Types: KeyTypes,
    K: BindKey<Types, DB>,
    DB: CounterBackend,
{
    fn condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let equal = entity.iter().zip(row(self, 0));
        let equal = equal.map(|(name, value)| sql!("{*name} = {value}"));
        (Types::COLUMNS > 0).then(|| list(" AND ", equal))
    }
}

impl<C: Values<DB>, DB: CounterBackend> Entities<DB> for Keys<C> {
    fn condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let key = &entity[..self.columns.columns()];
        (!key.is_empty()).then(|| db.is_in(key, &self.columns, self.len))
    }
}

/// The entities whose keys, or the first columns of them, the query `Q` selects.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AnyOf<Q> {
    query: Q,
    columns: usize,
}

impl<Q> AnyOf<Q> {
    pub(crate) fn new<Key>(query: Q) -> Self
    where
        Q: Query<SqlType: StartOf<Key>>,
    {
        let columns = Q::SqlType::COLUMNS;
        AnyOf { query, columns }
    }
}

impl<Q: QueryFragment<DB>, DB: CounterBackend> Entities<DB> for AnyOf<Q> {
    fn condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let query = fragment(&self.query);
        Some(match &entity[..self.columns] {
            [column] => sql!("{*column} IN ({query})"),
            columns => sql!("({columns}) IN ({query})"),
        })
    }
}

/// The SQL type of the first columns of a key with the SQL types `Key`, or of all.
#[diagnostic::on_unimplemented(
    message = "these are not the first columns of this counter table's key, which has the SQL types `{Key}`",
    label = "this has the SQL type `{Self}`",
    note = "help: in a query of keys, select the key, as in `articles::table.filter(…).select(articles::id)`"
)]
pub trait StartOf<Key> {
    #[doc(hidden)]
    const COLUMNS: usize;
}

macro_rules! start_of {
    ($($Key:tt: $($number:tt $First:tt),*;)*) => {
        $($(start_of!(@of $Key $number $First);)*)*
    };
    (@of ($($T:ident)*) 1 ($S:ident)) => {
        // A query of one column has the SQL type of the column.
        impl<$($T),*> StartOf<($($T,)*)> for $S {
            const COLUMNS: usize = 1;
        }
        impl<$($T),*> StartOf<($($T,)*)> for ($S,) {
            const COLUMNS: usize = 1;
        }
    };
    (@of ($($T:ident)*) $number:tt ($($S:ident)*)) => {
        impl<$($T),*> StartOf<($($T,)*)> for ($($S,)*) {
            const COLUMNS: usize = $number;
        }
    };
}

start_of! {
    (A): 1 (A);
    (A B): 1 (A), 2 (A B);
    (A B C): 1 (A), 2 (A B), 3 (A B C);
    (A B C D): 1 (A), 2 (A B), 3 (A B C), 4 (A B C D);
    (A B C D E): 1 (A), 2 (A B), 3 (A B C), 4 (A B C D), 5 (A B C D E);
}
