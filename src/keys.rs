//! Many keys in one statement.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue};

use crate::backend::{CounterBackend, ListedRows};
use crate::key::Entities;
use crate::table::CounterTable;

/// These entities, by their keys.
#[derive(Debug, Clone)]
pub struct Keys<K>(Vec<K>);

impl<K: Ord + Clone> Keys<K> {
    /// The distinct ones of `keys`, in order, for as few statements as `M` needs.
    pub(crate) fn chunks<M: ListKeys>(mut keys: Vec<K>) -> Vec<Vec<K>> {
        keys.sort_unstable();
        keys.dedup();
        keys.chunks(M::LIMIT).map(<[K]>::to_vec).collect()
    }

    /// These, which are sorted, from one to as many as `M` takes in a statement.
    pub(crate) fn listed<M: ListKeys>(mut keys: Vec<K>) -> Keys<K> {
        assert!(keys.len() <= M::LIMIT);
        let last = keys[keys.len() - 1].clone();
        keys.resize(M::padded(keys.len()), last);
        Keys(keys)
    }
}

// Without a static id Diesel caches by the text, of which there are few.
impl<K> QueryId for Keys<K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<K, T, DB> Entities<T, DB> for Keys<K>
where
    T: CounterTable,
    DB: CounterBackend<ManyRows: WalkKeys<K, T::KeyType, DB>>,
{
    fn walk_where<'b>(
        &'b self,
        entity: &str,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        out.push_sql(" WHERE ");
        out.push_identifier(entity)?;
        DB::ManyRows::walk_keys(&self.0, out.reborrow())?;
        Ok(" AND ")
    }
}

/// How many keys go in a statement.
#[doc(hidden)]
pub trait ListKeys {
    /// As many as this at most.
    const LIMIT: usize;
    /// So many for `number` of them, the last one repeated.
    fn padded(number: usize) -> usize;
}

/// How keys go in a statement.
#[doc(hidden)]
pub trait WalkKeys<K, ST, DB: Backend> {
    /// What a column is compared with: ` IN (?, ?, …)`.
    fn walk_keys<'b>(keys: &'b [K], out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

impl ListKeys for ListedRows {
    // SQLite takes 32,766 bind values, MySQL 65,535. Two of them may be days.
    const LIMIT: usize = 32_764;

    // A power of two, so that few texts are prepared.
    fn padded(number: usize) -> usize {
        number.next_power_of_two().min(Self::LIMIT)
    }
}

impl<K, ST, DB> WalkKeys<K, ST, DB> for ListedRows
where
    DB: Backend + HasSqlType<ST>,
    K: ToSql<ST, DB>,
    ST: SingleValue,
{
    fn walk_keys<'b>(keys: &'b [K], mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        for (i, key) in keys.iter().enumerate() {
            out.push_sql(if i == 0 { " IN (" } else { ", " });
            out.push_bind_param::<ST, _>(key)?;
        }
        out.push_sql(")");
        Ok(())
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use diesel::pg::Pg;
    use diesel::sql_types::Array;

    use super::*;
    use crate::backend::UnnestedRows;

    impl ListKeys for UnnestedRows {
        const LIMIT: usize = usize::MAX;

        fn padded(number: usize) -> usize {
            number
        }
    }

    impl<K, ST> WalkKeys<K, ST, Pg> for UnnestedRows
    where
        Pg: HasSqlType<Array<ST>>,
        [K]: ToSql<Array<ST>, Pg>,
        ST: SingleValue,
    {
        fn walk_keys<'b>(keys: &'b [K], mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
            out.push_sql(" = ANY(");
            out.push_bind_param::<Array<ST>, _>(keys)?;
            out.push_sql(")");
            Ok(())
        }
    }
}
