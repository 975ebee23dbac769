//! Recounting from the rows that were counted.

use std::marker::PhantomData;
use std::rc::Rc;

use diesel::connection::Connection;
use diesel::expression::Expression;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::sql_types::BigInt;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::{Counters, TableOf, difference, table_of};
use crate::counting::increment::{Cell, Increment, increment};
use crate::counting::increment_many::AddRows;
use crate::key::{AllEntities, Entities, KeyExpression, KeyOf, KeyType};
use crate::keys::{Keys, ListKeys};
use crate::reading::sums::{ByEntity, Whole};
use crate::table::{CounterTable, EntityTable, NoEntity};
use crate::transaction::is_in_a_transaction;

/// Puts counters right by what they count: `source` is a Diesel query of an entity's
/// key and its true count, or counts where there are several counters.
///
/// It is for one entity with [`of`](Recount::of), and otherwise for the whole table. It
/// adds the difference between the true count and the stored one, and removes nothing.
/// An entity that `source` does not have has a true count of 0.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel::dsl::count_star;
/// use diesel_counters::prelude::*;
/// use diesel_counters::{Drift, recount};
/// use schema::{article_counters, comments};
///
/// // A comment that nobody counted.
/// diesel::insert_into(comments::table)
///     .values((comments::article_id.eq(2), comments::body.eq("Nice.")))
///     .execute(conn)?;
///
/// let source = comments::table
///     .group_by(comments::article_id)
///     .select((comments::article_id, count_star()));
///
/// let drift: Vec<Drift<i64>> = recount(article_counters::comments, source).dry_run(conn)?;
/// assert_eq!(drift, [Drift { entity: 2, stored: 0, actual: 1 }]);
///
/// let added: i64 = recount(article_counters::comments, source).of(2_i64).execute(conn)?;
/// assert_eq!(added, 1);
///
/// let drift: Vec<Drift<i64>> = recount(article_counters::comments, source).execute(conn)?;
/// assert_eq!(drift, []);
/// # Ok(())
/// # }
/// ```
///
/// # While others count
///
/// They do not wait for it but on SQLite, and no count is lost or doubled, as long as
/// each is in one transaction with the row that it counts. (Where they are in two, a
/// recount between them sees one without the other.) Stored and true counts are read in
/// one statement, as of one moment, after a lock on the entity's row of 1970-01-01 that
/// keeps out other corrections: it is written for that where it is not there yet, with
/// zeros.
///
/// # Errors
///
/// The database's own. In a transaction of the caller's, on MySQL and MariaDB only, an
/// error that says so: a query there reads as of the first one of its transaction, which
/// may have been before the lock.
pub fn recount<C, S>(counters: C, source: S) -> Recount<C, S::Query>
where
    C: Counters,
    S: AsQuery<SqlType: TrueCounts<C, KeyType<C>>>,
{
    Recount::new(increment(counters), source)
}

/// A recount of the counters `C` of all entities of their table, from the query
/// `Source`; made by [`recount`].
#[must_use = "nothing is recounted until it is executed"]
pub struct Recount<C: Counters, Source> {
    increment: Increment<C>,
    source: Rc<Source>,
    batch: usize,
}

/// A recount of the counters `C` of one entity; made by [`Recount::of`].
#[must_use = "nothing is recounted until it is executed"]
pub struct RecountOne<C: Counters, Source, Id> {
    increment: Increment<C, Id>,
    source: Rc<Source>,
}

/// An entity whose stored count is not the true one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drift<K, V = i64> {
    /// The entity's key.
    pub entity: K,
    /// What its counter has, or its counters have.
    pub stored: V,
    /// What is true.
    pub actual: V,
}

impl<C: Counters, Source> Recount<C, Source> {
    pub(crate) fn new<S>(increment: Increment<C>, source: S) -> Self
    where
        S: AsQuery<Query = Source>,
    {
        Recount {
            increment,
            source: Rc::new(source.as_query()),
            batch: 256,
        }
    }

    /// Recounts only the entity with this key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> RecountOne<C, Source, KeyExpression<K, C>> {
        RecountOne {
            increment: self.increment.of(id),
            source: self.source,
        }
    }

    /// Corrects so many entities in a transaction at most, 1 or more; 256 when not said.
    pub fn batch(mut self, entities: usize) -> Self {
        self.batch = entities.max(1);
        self
    }

    /// Tells which entities' counts are wrong, by key, and changes nothing. It is one
    /// query.
    ///
    /// # Errors
    ///
    /// The database's own.
    pub fn dry_run<'a, K, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: EntityTable,
        Compared<C, Source, AllEntities, ByEntity>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        let query = Compared::<C, _, _, ByEntity>::new(&self.source, AllEntities);
        Ok(drifts(query.load(conn)?))
    }

    /// Corrects the counts that are wrong, and tells which they were, by key.
    ///
    /// It looks for them as [`dry_run`](Recount::dry_run) does, and then at each of them
    /// again, in transactions of their own. What becomes wrong after the first look is
    /// left.
    ///
    /// # Errors
    ///
    /// Those of [`recount`]; the batches before are corrected then.
    pub fn execute<'a, K, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: EntityTable,
        K: Ord + Clone,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys + AddRows<C, K, Conn>>>,
        Compared<C, Source, AllEntities, ByEntity>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
        Compared<C, Source, Keys<K>, ByEntity>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        let in_a_transaction = is_in_a_transaction(conn)?;
        let mut keys: Vec<K> = self
            .dry_run(conn)?
            .into_iter()
            .map(|drift| drift.entity)
            .collect();
        keys.sort_unstable();
        let mut corrected = Vec::new();
        for keys in keys.chunks(self.batch) {
            corrected.extend(conn.transaction(|conn| self.correct(keys, in_a_transaction, conn))?);
        }
        Ok(corrected)
    }

    fn correct<'a, K, Conn>(
        &self,
        keys: &[K],
        in_a_transaction: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        K: Ord + Clone,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys + AddRows<C, K, Conn>>>,
        Compared<C, Source, Keys<K>, ByEntity>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        let table = self.increment.table();
        let zeros = keys.iter().map(|key| (key.clone(), C::ZERO)).collect();
        ManyRows::<Conn>::add_rows(table, &Cell::LOCK, zeros, conn)?;

        let these = Keys::listed::<ManyRows<Conn>>(keys.to_vec());
        let query =
            Compared::<C, _, _, ByEntity>::new(&self.source, these).under_lock(in_a_transaction);
        let mut rows = query.load::<(K, C::Value, C::Value)>(conn)?;
        rows.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));

        let mut differences = Vec::with_capacity(rows.len());
        let mut found = Vec::with_capacity(rows.len());
        for (entity, stored, actual) in rows {
            let (stored, actual) = (C::amounts(stored), C::amounts(actual));
            differences.push((entity.clone(), difference::<C>(actual, stored)?));
            found.push((entity, C::value(stored), C::value(actual)));
        }
        if !differences.is_empty() {
            ManyRows::<Conn>::add_rows(table, &self.increment.cell, differences, conn)?;
        }
        Ok(drifts(found))
    }
}

type ManyRows<Conn> = <<Conn as Connection>::Backend as CounterBackend>::ManyRows;

fn drifts<K, V>(rows: Vec<(K, V, V)>) -> Vec<Drift<K, V>> {
    rows.into_iter()
        .map(|(entity, stored, actual)| Drift {
            entity,
            stored,
            actual,
        })
        .collect()
}

impl<C: Counters<Table: CounterTable<KeyType = NoEntity>>, Source> Recount<C, Source> {
    /// Recounts the counters of no entity: `source` is a query of their true counts.
    pub fn of_all(self) -> RecountOne<C, Source, NoEntity> {
        RecountOne {
            increment: self.increment,
            source: self.source,
        }
    }
}

impl<C: Counters, Source, Id: Clone> RecountOne<C, Source, Id> {
    /// Corrects the count, and answers with what it added: 0 where it was right.
    ///
    /// # Errors
    ///
    /// Those of [`recount`].
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<C::Value>
    where
        Conn: Connection,
        Increment<C, Id>: ExecuteDsl<Conn>,
        Compared<C, Source, Id, Whole>: LoadQuery<'a, Conn, (C::Value, C::Value)>,
    {
        let in_a_transaction = is_in_a_transaction(conn)?;
        conn.transaction(|conn| {
            ExecuteDsl::execute(self.increment.clone().locking(), conn)?;
            let id = self.increment.id().clone();
            let query =
                Compared::<C, _, _, Whole>::new(&self.source, id).under_lock(in_a_transaction);
            let (stored, actual) = query.get_result::<(C::Value, C::Value)>(conn)?;
            let added = difference::<C>(C::amounts(actual), C::amounts(stored))?;
            self.increment.amounts(added).execute(conn)?;
            Ok(C::value(added))
        })
    }
}

/// A query of stored and of true counts, of the entities `E` and told apart by `By`.
#[doc(hidden)]
pub struct Compared<C: Counters, Source, E, By> {
    table: TableOf<C>,
    source: Rc<Source>,
    entities: E,
    /// It follows a lock, in a transaction that may have read before it.
    may_be_stale: bool,
    by: PhantomData<By>,
}

impl<C: Counters, Source, E, By> Compared<C, Source, E, By> {
    fn new(source: &Rc<Source>, entities: E) -> Self {
        Compared {
            table: table_of::<C>(),
            source: Rc::clone(source),
            entities,
            may_be_stale: false,
            by: PhantomData,
        }
    }

    fn under_lock(mut self, in_a_transaction: bool) -> Self {
        self.may_be_stale = in_a_transaction;
        self
    }
}

/// What stored and true counts of `C` are told apart by.
#[doc(hidden)]
pub trait CompareBy<C: Counters> {
    type SqlType;
    const ENTITY: bool;
}

impl<C: Counters> CompareBy<C> for Whole {
    type SqlType = (<C as Expression>::SqlType, <C as Expression>::SqlType);
    const ENTITY: bool = false;
}

impl<C: Counters> CompareBy<C> for ByEntity {
    type SqlType = (
        KeyType<C>,
        <C as Expression>::SqlType,
        <C as Expression>::SqlType,
    );
    const ENTITY: bool = true;
}

impl<C: Counters, Source, E, By: CompareBy<C>> Query for Compared<C, Source, E, By> {
    type SqlType = By::SqlType;
}

impl<C: Counters, Source, E, By, Conn> RunQueryDsl<Conn> for Compared<C, Source, E, By> {}

impl<C, Source, E, By> QueryId for Compared<C, Source, E, By>
where
    C: Counters + QueryId,
    Source: QueryId,
    E: QueryId,
    By: QueryId,
{
    type QueryId = (C::QueryId, Source::QueryId, E::QueryId, By::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID
        && Source::HAS_STATIC_QUERY_ID
        && E::HAS_STATIC_QUERY_ID
        && By::HAS_STATIC_QUERY_ID;
}

const SOURCE: &str = "source";
const ENTITY: &str = "entity";

impl<C, Source, E, By, DB> QueryFragment<DB> for Compared<C, Source, E, By>
where
    C: Counters,
    Source: QueryFragment<DB>,
    E: Entities<C::Table, DB>,
    By: CompareBy<C>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
{
    // WITH source (entity, actual_0) AS (…)
    // SELECT entity, SUM(stored_0), SUM(actual_0)
    // FROM (
    //     SELECT article_id AS entity, views AS stored_0, 0 AS actual_0 FROM article_counters
    //     UNION ALL
    //     SELECT entity, 0, actual_0 FROM source
    // ) AS compared
    // GROUP BY entity HAVING SUM(stored_0) <> SUM(actual_0) ORDER BY entity
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        if self.may_be_stale && dialect == Dialect::MySql {
            return Err(Error::QueryBuilderError(
                "on MySQL and MariaDB a query in a transaction may read what was true when the \
                 transaction began to read: recount outside of a transaction"
                    .into(),
            ));
        }
        let entity = C::Table::ENTITY;
        let number = C::NAMES.len();
        let stored: Vec<String> = (0..number).map(|i| format!("stored_{i}")).collect();
        let actual: Vec<String> = (0..number).map(|i| format!("actual_{i}")).collect();
        let names = |names: &[String], out: &mut AstPass<'_, 'b, DB>| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            push_names(&names, out)
        };

        out.push_sql("WITH ");
        out.push_identifier(SOURCE)?;
        out.push_sql(" (");
        if entity.is_some() {
            out.push_identifier(ENTITY)?;
            out.push_sql(", ");
        }
        names(&actual, &mut out)?;
        out.push_sql(") AS (");
        self.source.walk_ast(out.reborrow())?;
        out.push_sql(") SELECT ");
        if By::ENTITY {
            out.push_identifier(ENTITY)?;
            out.push_sql(", ");
        }
        for (i, counter) in stored.iter().chain(&actual).enumerate() {
            if i > 0 {
                out.push_sql(", ");
            }
            dialect.push_sum(counter, &mut out)?;
        }

        out.push_sql(" FROM (SELECT ");
        if let Some(entity) = entity {
            out.push_identifier(entity)?;
            out.push_sql(" AS ");
            out.push_identifier(ENTITY)?;
            out.push_sql(", ");
        }
        for (counter, stored) in C::NAMES.iter().zip(&stored) {
            out.push_identifier(counter)?;
            out.push_sql(" AS ");
            out.push_identifier(stored)?;
            out.push_sql(", ");
        }
        for (i, actual) in actual.iter().enumerate() {
            out.push_sql(if i == 0 { "0 AS " } else { ", 0 AS " });
            out.push_identifier(actual)?;
        }
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        let column = entity.unwrap_or_default();
        self.entities.walk_where(column, out.reborrow())?;
        out.push_sql(" UNION ALL SELECT ");
        if entity.is_some() {
            out.push_identifier(ENTITY)?;
            out.push_sql(", ");
        }
        for _ in &stored {
            out.push_sql("0, ");
        }
        names(&actual, &mut out)?;
        out.push_sql(" FROM ");
        out.push_identifier(SOURCE)?;
        self.entities.walk_where(ENTITY, out.reborrow())?;
        out.push_sql(") AS compared");

        if By::ENTITY {
            out.push_sql(" GROUP BY ");
            out.push_identifier(ENTITY)?;
            for (i, (stored, actual)) in stored.iter().zip(&actual).enumerate() {
                out.push_sql(if i == 0 { " HAVING SUM(" } else { " OR SUM(" });
                out.push_identifier(stored)?;
                out.push_sql(") <> SUM(");
                out.push_identifier(actual)?;
                out.push_sql(")");
            }
            out.push_sql(" ORDER BY ");
            out.push_identifier(ENTITY)?;
        }
        Ok(())
    }
}

/// The SQL type of a query that says how often the counters `C` of each entity with a
/// key of the type `K` were truly counted: `(K, BigInt)`, with another `BigInt` for each
/// further counter.
#[diagnostic::on_unimplemented(
    message = "this is not a query of the true counts of `{C}`",
    label = "it selects `{Self}`",
    note = "help: it selects an entity's key and a count for each counter, as in\n\
    `comments::table.group_by(comments::article_id).select((comments::article_id, count_star()))`"
)]
pub trait TrueCounts<C, K> {}

macro_rules! true_counts {
    ($($Value:ty: $($Count:ident)*;)*) => {$(
        impl<C: Counters<Value = $Value>, K> TrueCounts<C, K> for (K, $($Count,)*) {}
        impl<C: Counters<Value = $Value>> TrueCounts<C, NoEntity> for true_counts!(@row $($Count)*) {}
    )*};
    (@row $Count:ident) => { $Count };
    (@row $($Count:ident)*) => { ($($Count,)*) };
}

true_counts! {
    i64: BigInt;
    (i64, i64): BigInt BigInt;
    (i64, i64, i64): BigInt BigInt BigInt;
    (i64, i64, i64, i64): BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt BigInt BigInt BigInt;
}
