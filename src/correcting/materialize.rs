//! Copying totals into a column of the model's own table.

use std::fmt::Debug;
use std::marker::PhantomData;

use diesel::associations::HasTable;
use diesel::connection::Connection;
use diesel::dsl::AsExprOf;
use diesel::expression::AsExpression;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::query_source::QuerySource;
use diesel::result::Error;
use diesel::serialize::ToSql;
use diesel::sql_types::BigInt;
use diesel::{Column, QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect};
use crate::counter::Counters;
use crate::key::KeyType;
use crate::reading::total::Total;
use crate::table::HasParent;

type KeyBind<C, K> = AsExprOf<K, KeyType<C>>;
pub type ParentTable<C> = <<<C as Counters>::Table as HasParent>::ParentKey as Column>::Table;

fn parent_table<C: Counters<Table: HasParent>>() -> FromClause<C> {
    ParentTable::<C>::table().from_clause()
}

type FromClause<C> = <ParentTable<C> as QuerySource>::FromClause;

/// A copy of the totals of `C` into the column `Into` of the model's table, whose keys
/// are `K`; made by [`HasCounters::materialize`](crate::HasCounters::materialize).
#[must_use = "nothing is copied until it is executed"]
pub struct Materialize<C, Into, K> {
    batch: i64,
    of: PhantomData<(C, Into, K)>,
}

impl<C, Into, K> Materialize<C, Into, K>
where
    C: Counters<Value = i64, Table: HasParent>,
    K: AsExpression<KeyType<C>>,
{
    pub(crate) fn new() -> Self {
        Materialize {
            batch: 1_000,
            of: PhantomData,
        }
    }

    /// Writes up to this number of rows in a transaction, at least 1. Defaults to 1,000.
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = i64::try_from(rows.max(1)).unwrap_or(i64::MAX);
        self
    }

    /// Copies the totals. Returns the number of rows that it wrote.
    ///
    /// A row that somebody else wrote between reading and writing is left for the next
    /// time.
    ///
    /// # Errors
    ///
    /// The database's own; the batches before are written then.
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: Clone + PartialEq + Debug,
        Conn: Connection,
        Changed<C, Into, K>: LoadQuery<'a, Conn, (K, i64, i64)>,
        Write<C, Into, K>: ExecuteDsl<Conn>,
    {
        let mut written = 0;
        let mut after: Option<K> = None;
        loop {
            let changed = Changed::<C, Into, K> {
                parent: parent_table::<C>(),
                total: Total::new(),
                after: after.clone().map(K::as_expression),
                limit: self.batch,
                into: PhantomData,
            };
            let changed: Vec<(K, i64, i64)> = changed.load(conn)?;
            let Some((last, ..)) = changed.last() else {
                return Ok(written);
            };
            if after.as_ref() == Some(last) {
                return Err(Error::QueryBuilderError(
                    format!(
                        "the row with the key {last:?} is found again after that key: SQLite has \
                         it stored as another type than its column's"
                    )
                    .into(),
                ));
            }
            after = Some(last.clone());
            written += conn.transaction(|conn| {
                changed
                    .into_iter()
                    .try_fold(0, |written, (id, held, total)| {
                        let write = Write::<C, Into, K> {
                            parent: parent_table::<C>(),
                            id: id.as_expression(),
                            held,
                            total,
                            into: PhantomData,
                        };
                        QueryResult::Ok(written + write.execute(conn)?)
                    })
            })?;
        }
    }
}

/// The rows whose column `Into` is not the total of `C`, by key.
#[doc(hidden)]
pub struct Changed<C, Into, K>
where
    C: Counters<Table: HasParent>,
    K: AsExpression<KeyType<C>>,
{
    parent: FromClause<C>,
    total: Total<C>,
    after: Option<KeyBind<C, K>>,
    limit: i64,
    into: PhantomData<Into>,
}

impl<C, Into, K> Query for Changed<C, Into, K>
where
    C: Counters<Table: HasParent>,
    K: AsExpression<KeyType<C>>,
{
    type SqlType = (KeyType<C>, BigInt, BigInt);
}

impl<C, Into, K, Conn> RunQueryDsl<Conn> for Changed<C, Into, K>
where
    C: Counters<Table: HasParent>,
    K: AsExpression<KeyType<C>>,
{
}

// There are two texts: the first batch is after no key.
impl<C, Into, K> QueryId for Changed<C, Into, K>
where
    C: Counters<Table: HasParent>,
    K: AsExpression<KeyType<C>>,
{
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C, Into, K, DB> QueryFragment<DB> for Changed<C, Into, K>
where
    C: Counters<Table: HasParent<ParentKey: QueryFragment<DB>>>,
    K: AsExpression<KeyType<C>, Expression: QueryFragment<DB>>,
    FromClause<C>: QueryFragment<DB>,
    Into: Column,
    Total<C>: QueryFragment<DB>,
    DB: CounterBackend,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let key = C::Table::PARENT_KEY;
        Dialect::of(&out).push_select(&mut out);
        key.walk_ast(out.reborrow())?;
        out.push_sql(", ");
        out.push_identifier(Into::NAME)?;
        out.push_sql(", ");
        self.total.walk_ast(out.reborrow())?;
        out.push_sql(" FROM ");
        self.parent.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE ");
        out.push_identifier(Into::NAME)?;
        out.push_sql(" <> ");
        self.total.walk_ast(out.reborrow())?;
        if let Some(after) = &self.after {
            out.push_sql(" AND ");
            key.walk_ast(out.reborrow())?;
            out.push_sql(" > ");
            after.walk_ast(out.reborrow())?;
        }
        out.push_sql(" ORDER BY ");
        key.walk_ast(out.reborrow())?;
        out.push_sql(" LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}

/// Writes a total into the column `Into` of a row that still holds what it held.
#[doc(hidden)]
pub struct Write<C, Into, K>
where
    C: Counters<Table: HasParent>,
    K: AsExpression<KeyType<C>>,
{
    parent: FromClause<C>,
    id: KeyBind<C, K>,
    held: i64,
    total: i64,
    into: PhantomData<Into>,
}

impl<C, Into, K, Conn> RunQueryDsl<Conn> for Write<C, Into, K>
where
    C: Counters<Table: HasParent>,
    K: AsExpression<KeyType<C>>,
{
}

impl<C, Into, K> QueryId for Write<C, Into, K>
where
    C: Counters<Table: HasParent> + QueryId,
    Into: QueryId,
    K: AsExpression<KeyType<C>>,
{
    type QueryId = Materialize<C::QueryId, Into::QueryId, ()>;
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID && Into::HAS_STATIC_QUERY_ID;
}

impl<C, Into, K, DB> QueryFragment<DB> for Write<C, Into, K>
where
    C: Counters<Table: HasParent<ParentKey: QueryFragment<DB>>>,
    K: AsExpression<KeyType<C>, Expression: QueryFragment<DB>>,
    FromClause<C>: QueryFragment<DB>,
    Into: Column,
    DB: CounterBackend,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("UPDATE ");
        self.parent.walk_ast(out.reborrow())?;
        out.push_sql(" SET ");
        out.push_identifier(Into::NAME)?;
        out.push_sql(" = ");
        out.push_bind_param::<BigInt, _>(&self.total)?;
        out.push_sql(" WHERE ");
        C::Table::PARENT_KEY.walk_ast(out.reborrow())?;
        out.push_sql(" = ");
        self.id.walk_ast(out.reborrow())?;
        out.push_sql(" AND ");
        out.push_identifier(Into::NAME)?;
        out.push_sql(" = ");
        out.push_bind_param::<BigInt, _>(&self.held)
    }
}
