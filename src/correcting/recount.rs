//! Recounting from the rows that were counted.

use std::rc::Rc;

use diesel::connection::Connection;
use diesel::query_builder::AsQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::sql_types::BigInt;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, ManyRows};
use crate::correcting::compared::Compared;
use crate::counter::{Counters, difference};
use crate::counting::increment::{Cell, Increment, increment};
use crate::counting::increment_many::AddRows;
use crate::key::{AllEntities, KeyExpression, KeyOf, KeyType};
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

/// A statement has each key twice, padded to a power of two, and leaves as many bind values to
/// the source: SQLite takes 32,766.
const MAX_BATCH: usize = 8_192;

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

    /// Corrects up to this number of entities in a transaction, from 1 to 8,192. Defaults to
    /// 256.
    pub fn batch(mut self, entities: usize) -> Self {
        self.batch = entities.clamp(1, MAX_BATCH);
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
