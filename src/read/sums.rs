//! Sums of counters over the rows of their table: which entities, which days, and what they are
//! grouped by.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::connection::LoadConnection;
use diesel::deserialize;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::day::DayRange;
use crate::read::days::{AllDays, Days};
use crate::sql::rows::{self, is_wanted};
use crate::sql::sum::SUMS;
use crate::sql::{
    Binds as _, CounterBackend, Dialect, KeyPrefix, NUMBER, Part, Sql, Values, and, list, load,
    part, part_of, sql, vitess, where_both,
};
use crate::typed::counters::{Counters, KeyType};
use crate::typed::entities::{AnyOf, Entities, StartOf};
use crate::typed::key::{BindKey, HasColumns, KeyOf, KeyTypes, columns_of, padded};
use crate::typed::table::CounterTable;

/// A query of the sums of the counters `C` of the entities `E` over some days, grouped by `By`;
/// made by [`counter_value`](crate::dsl::counter_value()),
/// [`counter_series`](crate::dsl::counter_series()) and [`ranking`](crate::dsl::ranking()).
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Sums<C, E = (), By = Ungrouped, Days = AllDays> {
    pub(crate) entities: E,
    pub(crate) days: Days,
    pub(crate) by: By,
    of: PhantomData<C>,
}

impl<C, E, By, Days> Sums<C, E, By, Days> {
    pub(crate) fn new(entities: E, by: By, days: Days) -> Self {
        Sums {
            entities,
            days,
            by,
            of: PhantomData,
        }
    }
}

impl<C: Counters, By, Days> Sums<C, (), By, Days> {
    /// Sets the entity, by its key. With fewer values than the key has columns, reads all entities
    /// whose keys begin with them: `crate_id` for all versions of a crate. Defaults to all
    /// entities.
    pub fn of<K, N>(self, id: K) -> Sums<C, KeyPrefix<K::Types, K::Value>, By, Days>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        Sums::new(KeyPrefix::new(id.into_value()), self.by, self.days)
    }

    /// Sets the entities to those whose keys, or the first columns of them, `query` selects:
    /// `articles::table.filter(articles::author_id.eq(7)).select(articles::id)`. They are read
    /// together.
    pub fn of_any<Q>(self, query: Q) -> Sums<C, AnyOf<Q::Query>, By, Days>
    where
        Q: AsQuery<SqlType: StartOf<KeyType<C>>>,
    {
        let entities = AnyOf::new::<KeyType<C>>(query.as_query());
        Sums::new(entities, self.by, self.days)
    }

    /// Sets many entities, by their keys, by the first columns of their keys, or by their models.
    /// `load` returns the counts of each, in this order. A key can be given more than once. On
    /// PostgreSQL, it is one query. On the other databases, it is one query for each 1,000
    /// keys, and on Vitess for each 100.
    pub fn of_many<K, N>(
        self,
        ids: impl IntoIterator<Item = K>,
    ) -> Sums<C, Many<K::Types, K::Value>, By, Days>
    where
        K: KeyOf<KeyType<C>, N, Types: HasColumns<1>>,
    {
        let many = Many {
            ids: ids.into_iter().map(K::into_value).collect(),
            types: PhantomData,
        };
        Sums::new(many, self.by, self.days)
    }
}

impl<C: Counters, E, By, Days> Sums<C, E, By, Days> {
    /// Reads only the count of `day`. If the table counts by another [`Period`](crate::Period) than
    /// the day, reads the period that contains `day`.
    pub fn on(self, day: NaiveDate) -> Sums<C, E, By, DayRange> {
        let days = DayRange::period_of(day, C::Table::PERIOD);
        Sums::new(self.entities, self.by, days)
    }

    /// Reads only the counts of a range of days: `monday..=today`, `monday..`, `..today`. An empty
    /// or reversed range has none. If the table counts by another [`Period`](crate::Period) than
    /// the day, reads all periods that overlap the range. Counts without a day are those of
    /// 1970-01-01.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Sums<C, E, By, DayRange> {
        let days = DayRange::whole(days, C::Table::PERIOD);
        Sums::new(self.entities, self.by, days)
    }
}

/// The greatest number of keys that are marked in one query. Each row has a mark for each key.
const MOST_MARKED: usize = 100;

/// Several entities, by their keys `K`, whose columns have the SQL types `Types`.
#[derive(Debug, Clone)]
pub struct Many<Types, K> {
    pub(crate) ids: Vec<K>,
    types: PhantomData<fn() -> Types>,
}

// It is never run, as Diesel cannot read it. Without it, the error of the compiler would name
// `QueryId`.
impl<Types, K> QueryId for Many<Types, K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// What sums of `C` are grouped by.
pub trait GroupColumns<C: Counters, DB: CounterBackend> {
    /// Whether the columns are names, without their table.
    #[doc(hidden)]
    const HAS_NAMES: bool = false;

    /// The columns; none for one row.
    #[doc(hidden)]
    fn columns(&self) -> Option<Sql<'_, DB>>;

    /// The query of which `from` is the end: its `FROM` and `WHERE`.
    #[doc(hidden)]
    fn query<'b>(&'b self, db: Dialect, from: impl Part<'b, DB> + Copy) -> impl Part<'b, DB> {
        let sums = db.sums(C::NAMES);
        let by = self.columns();
        let one = db.one_row(C::NAMES.len(), part!("SELECT {sums}{from}"));
        part!(match &by {
            None => "{one}",
            Some(by) => "{db.select()}{by}, {sums}{from} GROUP BY {by} ORDER BY {by}",
        })
    }
}

/// One row, with the sums of all rows.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Ungrouped;

impl<C: Counters, E, Days> Query for Sums<C, E, Ungrouped, Days> {
    type SqlType = <C as Expression>::SqlType;
}

impl<C: Counters, DB: CounterBackend> GroupColumns<C, DB> for Ungrouped {
    const HAS_NAMES: bool = true;
    fn columns(&self) -> Option<Sql<'_, DB>> {
        None
    }
}

impl<C, E, By, Days, Conn> RunQueryDsl<Conn> for Sums<C, E, By, Days> {}

/// A total is one row: `first` is `get_result`.
impl<C, E, Days> LimitDsl for Sums<C, E, Ungrouped, Days> {
    type Output = Self;

    fn limit(self, _: i64) -> Self {
        self
    }
}

impl<C, E, B, D, DB> QueryFragment<DB> for Sums<C, E, B, D>
where
    C: Counters,
    E: Entities<DB>,
    B: GroupColumns<C, DB>,
    D: Days,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.sql(Dialect::of(&out)).walk(out)
    }
}

impl<C: Counters, E, B, D: Days> Sums<C, E, B, D> {
    pub(crate) fn sql<DB>(&self, db: Dialect) -> impl Part<'_, DB>
    where
        E: Entities<DB>,
        B: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let is_entity = part_of(move |out| {
            self.entities.write_condition(db, shape.entity(), out);
        });
        let is_entity = self.entities.have_condition().then_some(is_entity);
        let rows = where_both(is_entity, self.days.condition(shape.day()));
        self.by.query(db, part!(" FROM {shape.table}{rows}"))
    }
}

impl<C, Types, K, By, D> Sums<C, Many<Types, K>, By, D>
where
    C: Counters,
    Types: KeyTypes,
    D: Days,
{
    /// Reads the sums of all keys. Calls `each` with the index of the key and what `read` reads of
    /// a row, whose first field says of which keys it is.
    pub(crate) fn read_numbered<T, Conn>(
        &self,
        conn: &mut Conn,
        read: impl for<'c, 'a> Fn(&Conn::Row<'c, 'a>) -> deserialize::Result<T>,
        mut each: impl FnMut(usize, T),
    ) -> QueryResult<()>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        By: GroupColumns<C, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        match self.read_listed(conn, &read, &mut each) {
            Err(error) if vitess::is_refused(&error) => self.read_marked(conn, &read, &mut each),
            done => done,
        }
    }

    /// As [`read_numbered`](Sums::read_numbered), by a list of the keys and their numbers.
    fn read_listed<T, Conn>(
        &self,
        conn: &mut Conn,
        read: impl for<'c, 'a> Fn(&Conn::Row<'c, 'a>) -> deserialize::Result<T>,
        mut each: impl FnMut(usize, T),
    ) -> QueryResult<()>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        By: GroupColumns<C, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let size = rows::most_numbered::<Conn::Backend>();
        for (chunk, keys) in self.entities.ids.chunks(size).enumerate() {
            let given = keys.len() as i64;
            let len = rows::padded_for_query::<Conn::Backend>(keys.len());
            let keys = columns_of(padded(keys, len));
            let found = load(
                conn,
                |db| self.numbered(db, &keys, len, &given),
                |row| Ok((Conn::Backend::amount(row, 0)?, read(row)?)),
            )?;
            for (number, row) in found {
                each(chunk * size + number as usize - 1, row);
            }
        }
        Ok(())
    }

    /// As [`read_numbered`](Sums::read_numbered), on Vitess, which routes an `IN` to the shards of
    /// the keys.
    fn read_marked<T, Conn>(
        &self,
        conn: &mut Conn,
        read: impl for<'c, 'a> Fn(&Conn::Row<'c, 'a>) -> deserialize::Result<T>,
        mut each: impl FnMut(usize, T),
    ) -> QueryResult<()>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        By: GroupColumns<C, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        for (chunk, keys) in self.entities.ids.chunks(MOST_MARKED).enumerate() {
            let len = keys.len();
            let keys = columns_of(keys.iter().cloned());
            let found = load(
                conn,
                |db| self.marked(db, &keys, len),
                |row| {
                    let marks = Conn::Backend::text(row, 0)?;
                    let marked = (0..len).filter(|key| marks.as_bytes().get(*key) == Some(&b'1'));
                    let values = marked.map(|key| Ok((key, read(row)?)));
                    values.collect::<deserialize::Result<Vec<_>>>()
                },
            )?;
            for (key, row) in found.into_iter().flatten() {
                each(chunk * MOST_MARKED + key, row);
            }
        }
        Ok(())
    }

    /// A query of the sums of these keys. Each row begins with [marks](Dialect::marks) of the keys.
    fn marked<'a, DB>(&'a self, db: Dialect, keys: &'a dyn Values<DB>, len: usize) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let key = &shape.entity()[..Types::COLUMNS];
        let by = self.by.columns();
        // A series sorts its days.
        let order = by.as_ref().filter(|_| !By::HAS_NAMES);
        let order = order.map(|by| sql!(" ORDER BY {by}"));
        let then_by = by.as_ref().map(|by| sql!(", {by}"));
        let marks = db.marks(key, keys, len);
        let is_in = db.is_in(key, keys, len);
        let days = and(self.days.condition(shape.day()));
        sql!(
            "{db.select()}{marks}{then_by}, {db.sums(C::NAMES)} FROM {shape.table} \
             WHERE {is_in}{days} GROUP BY {key}{then_by}{order}"
        )
    }

    /// A query of the sums of the first `given` ones of these keys. Each row begins with the number
    /// of its key in the list, from 1.
    fn numbered<'a, DB>(
        &'a self,
        db: Dialect,
        keys: &'a dyn Values<DB>,
        len: usize,
        given: &'a i64,
    ) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let refused = (db == Dialect::MySql).then_some(vitess::REFUSED);
        let select = sql!("{db.select()}{refused}");
        let table = shape.table;
        let counters = C::NAMES;
        let key = &shape.entity()[..Types::COLUMNS];
        let by = self.by.columns();
        let is_one = by.is_none();
        let then_by = by.map(|by| sql!(", {by}"));
        let listed = db.numbered_keys(table, key, keys, len);
        let is_given = sql!(" WHERE {NUMBER} <= {given}");
        let days = || and(self.days.condition(shape.day()));
        // A series sorts its days.
        let order = (!By::HAS_NAMES).then(|| sql!(" ORDER BY {NUMBER}{then_by}"));
        // Each case has its fastest way. A series or a total on PostgreSQL: sum the listed keys, and
        // then number the sums. Up to two counters without a group: a subquery for each key. Otherwise a join, which
        // reads the rows once for several counters. `IN` and `GROUP BY` are not faster on MySQL and
        // MariaDB, and could not be cached either.
        if By::HAS_NAMES && db == Dialect::PostgreSql {
            let sums = &SUMS[..counters.len()];
            let is_in = db.is_in(key, keys, len);
            return sql!(
                "{select}{NUMBER}{then_by}, {sums}{listed} JOIN (\
                 SELECT {key}{then_by}, {db.sums(counters)} FROM {table} WHERE {is_in}{days()} \
                 GROUP BY {key}{then_by}) AS diesel_counters_sums ON {is_wanted(key)}{is_given}"
            );
        }
        if is_one && counters.len() <= 2 {
            let sums = counters.iter().map(|counter| {
                let sum = db.sum(*counter);
                sql!(", (SELECT {sum} FROM {table} WHERE {is_wanted(key)}{days()})")
            });
            let sums = list("", sums);
            return sql!("{select}{NUMBER}{sums}{listed}{is_given}");
        }
        let joined = db.join_numbered(table, key, keys, len);
        sql!(
            "{select}{NUMBER}{then_by}, {db.sums(counters)}{listed}{joined}{is_given}{days()} \
             GROUP BY {NUMBER}{then_by}{order}"
        )
    }
}
