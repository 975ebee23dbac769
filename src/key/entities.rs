//! The entities of a statement: all, one, the keys of a list or of a query, or those that begin with a
//! prefix.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

use super::{BindKey, KeyOf, KeyTypes, PrefixOf, StartOf};
use crate::backend::{CounterBackend, WalkRows, push_names};
use crate::day::Day;

/// The entities that a statement on a counter table reads or writes, whose keys have the SQL types
/// `Key`.
pub trait Entities<Key, DB: Backend> {
    /// Writes a condition on the first columns of `key`: ` WHERE "article_id" = ?`. Returns the word to
    /// write before the next condition: ` WHERE ` or ` AND `.
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str>;
}

/// All entities.
impl<Key, DB: Backend> Entities<Key, DB> for () {
    fn walk_where<'b>(&'b self, _: &[&str], _: AstPass<'_, 'b, DB>) -> QueryResult<&'static str> {
        Ok(" WHERE ")
    }
}

/// The entities whose keys begin with the first `N` columns `K`.
#[derive(Debug, Clone, Copy)]
pub struct Prefix<K, N>(K, PhantomData<N>);

impl<K, N> Prefix<K, N> {
    pub(crate) fn new(key: K) -> Self {
        Prefix(key, PhantomData)
    }
}

// The SQL does not depend on the Rust type of the key.
impl<K, N: QueryId> QueryId for Prefix<K, N> {
    type QueryId = Prefix<(), N::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = N::HAS_STATIC_QUERY_ID;
}

impl<K, N, Key, DB> Entities<Key, DB> for Prefix<K, N>
where
    K: PrefixOf<Key, N> + BindKey<K::Types, DB>,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        walk_equal::<K::Types, _, _>(&self.0, key, out)
    }
}

/// The entity with the whole key `K`.
#[derive(Debug, Clone, Copy)]
pub struct One<K>(pub(crate) K);

impl<K, Key, DB> Entities<Key, DB> for One<K>
where
    K: BindKey<Key, DB>,
    Key: KeyTypes,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        walk_equal::<Key, _, _>(&self.0, key, out)
    }
}

fn walk_equal<'b, Key: KeyTypes, K: BindKey<Key, DB>, DB: Backend>(
    values: &'b K,
    key: &[&str],
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<&'static str> {
    let mut and = " WHERE ";
    for (column, name) in key.iter().take(Key::COLUMNS).enumerate() {
        out.push_sql(and);
        out.push_identifier(name)?;
        out.push_sql(" = ");
        values.walk_column(column, out.reborrow())?;
        and = " AND ";
    }
    Ok(and)
}

/// Many keys, column by column, as bind values.
pub trait BindColumns<DB: Backend> {
    const NUMBER: usize;
    /// Writes the values of these rows: a value for each column, `?, ?`, if there is one row, or an
    /// array for each.
    fn walk_binds<'b>(&'b self, rows: Range<usize>, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Many keys, and a day for each: keys of one more column.
#[derive(Debug, Default)]
pub struct Dated<Columns> {
    pub(crate) keys: Columns,
    pub(crate) days: Vec<Day>,
}

impl<Columns: BindColumns<DB>, DB: CounterBackend> BindColumns<DB> for Dated<Columns> {
    const NUMBER: usize = Columns::NUMBER + 1;
    fn walk_binds<'b>(
        &'b self,
        rows: Range<usize>,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        self.keys.walk_binds(rows.clone(), out.reborrow())?;
        out.push_sql(if Columns::NUMBER > 0 { ", " } else { "" });
        DB::ManyRows::walk_days(&self.days[rows], out)
    }
}

/// The entities with these keys.
#[derive(Debug)]
pub struct Keys<Columns> {
    columns: Arc<Columns>,
    /// How many keys the list has.
    pub(crate) len: usize,
    /// How many of them are not there to fill up the list.
    pub(crate) given: i64,
}

impl<Columns> Clone for Keys<Columns> {
    fn clone(&self) -> Self {
        Keys {
            columns: Arc::clone(&self.columns),
            len: self.len,
            given: self.given,
        }
    }
}

impl<Columns> Keys<Columns> {
    /// These keys, of which there are from one to [`WalkRows::LIMIT`].
    pub(crate) fn listed<Key, K, DB>(keys: &[K]) -> Self
    where
        K: KeyOf<Key, Columns = Columns> + Clone,
        DB: CounterBackend,
        Columns: Default,
    {
        Keys::padded(keys, DB::ManyRows::padded(keys.len(), DB::ManyRows::LIMIT))
    }

    /// These keys, of which there are from one to [`WalkRows::NUMBERED_LIMIT`].
    pub(crate) fn numbered<Key, K, DB>(keys: &[K]) -> Self
    where
        K: KeyOf<Key, Columns = Columns> + Clone,
        DB: CounterBackend,
        Columns: Default,
    {
        let limit = DB::ManyRows::NUMBERED_LIMIT;
        Keys::padded(keys, DB::ManyRows::padded(keys.len(), limit))
    }

    /// Fills up the list to `len` with its last key.
    fn padded<Key, K>(keys: &[K], len: usize) -> Self
    where
        K: KeyOf<Key, Columns = Columns> + Clone,
        Columns: Default,
    {
        assert!(keys.len() <= len);
        let mut columns = Columns::default();
        for key in keys.iter().chain(keys.last().into_iter().cycle()).take(len) {
            key.clone().push_to(&mut columns);
        }
        Keys {
            columns: Arc::new(columns),
            len,
            given: keys.len() as i64,
        }
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }
}

// Without a static id, Diesel caches a statement by its text. There are few texts.
impl<Columns> QueryId for Keys<Columns> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Columns, Key, DB> Entities<Key, DB> for Keys<Columns>
where
    Columns: BindColumns<DB>,
    DB: CounterBackend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        if Columns::NUMBER == 0 {
            return Ok(" WHERE ");
        }
        out.push_sql(" WHERE ");
        let key = &key[..Columns::NUMBER];
        DB::ManyRows::walk_in(key, &*self.columns, self.len, out.reborrow())?;
        Ok(" AND ")
    }
}

/// The entities whose keys, or the first columns of them, the query `Q` selects.
#[derive(Debug, Clone, QueryId)]
pub struct AnyOf<Q>(pub(crate) Q);

impl<Q, Key, DB> Entities<Key, DB> for AnyOf<Q>
where
    Q: Query<SqlType: StartOf<Key>> + QueryFragment<DB>,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        let key = &key[..Q::SqlType::COLUMNS];
        let (before, after) = if key.len() == 1 { ("", "") } else { ("(", ")") };
        out.push_sql(" WHERE ");
        out.push_sql(before);
        push_names(key, &mut out)?;
        out.push_sql(after);
        out.push_sql(" IN (");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(" AND ")
    }
}
