//! Sums of counters over the rows of their table.

use std::marker::PhantomData;

use diesel::connection::LoadConnection;
use diesel::deserialize;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::Date;
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::read::days::{AllDays, Days};
use crate::shape::Name;
use crate::sql::rows::{self, is_wanted};
use crate::sql::sum::SUMS;
use crate::sql::{
    Binds as _, CounterBackend, Dialect, NUMBER, Sql, Values, and, fragment, list, load, sql,
    where_all,
};
use crate::typed::counters::Counters;
use crate::typed::key::{BindKey, Entities, KeyTypes, columns_of, padded};
use crate::typed::settings::CounterSettings;

/// A query of the sums of the counters `C` of the entities `E` over some days, grouped by `By`.
///
/// For several entities, `E` is [`Many`], and the query is not a Diesel query.
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone, QueryId)]
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

/// Several entities, by their keys `K`, whose columns have the SQL types `Types`.
#[derive(Debug, Clone)]
pub struct Many<Types, K> {
    pub(crate) ids: Vec<K>,
    types: PhantomData<fn() -> Types>,
}

impl<Types, K> Many<Types, K> {
    pub(crate) fn new(ids: impl Iterator<Item = K>) -> Self {
        Many {
            ids: ids.collect(),
            types: PhantomData,
        }
    }
}

/// The columns that sums of `C` are grouped by. A row has these columns, and then the sums.
pub trait GroupBy<C: Counters> {
    /// The SQL type of a row.
    type SqlType;
}

/// Columns that sums are grouped by, as SQL.
pub trait GroupColumns<DB: CounterBackend> {
    /// Whether the columns are names, without their table.
    const HAS_NAMES: bool = false;
    /// The columns; none for one row.
    fn columns<'b>(&'b self, day: Name<'b>) -> Option<Sql<'b, DB>>;
}

/// One row, with the sums of all rows.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Ungrouped;

impl<C: Counters> GroupBy<C> for Ungrouped {
    type SqlType = <C as Expression>::SqlType;
}

impl<DB: CounterBackend> GroupColumns<DB> for Ungrouped {
    const HAS_NAMES: bool = true;
    fn columns<'b>(&'b self, _: Name<'b>) -> Option<Sql<'b, DB>> {
        None
    }
}

/// A row for each day.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByDay;

impl<C: Counters> GroupBy<C> for ByDay {
    type SqlType = (Date, <C as Expression>::SqlType);
}

impl<DB: CounterBackend> GroupColumns<DB> for ByDay {
    const HAS_NAMES: bool = true;
    fn columns<'b>(&'b self, day: Name<'b>) -> Option<Sql<'b, DB>> {
        Some(sql!("{day}"))
    }
}

/// A row for each value of the columns `Columns`.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Grouped<Columns>(pub(crate) Columns);

impl<C: Counters, G: Expression> GroupBy<C> for Grouped<G> {
    type SqlType = (G::SqlType, <C as Expression>::SqlType);
}

impl<G: QueryFragment<DB>, DB: CounterBackend> GroupColumns<DB> for Grouped<G> {
    fn columns<'b>(&'b self, _: Name<'b>) -> Option<Sql<'b, DB>> {
        Some(fragment(&self.0))
    }
}

impl<C, E, By, Days, Conn> RunQueryDsl<Conn> for Sums<C, E, By, Days> {}

impl<C: Counters, E, B: GroupBy<C>, Days> Query for Sums<C, E, B, Days> {
    type SqlType = B::SqlType;
}

impl<C, E, B, D, DB> QueryFragment<DB> for Sums<C, E, B, D>
where
    C: Counters,
    E: Entities<DB>,
    B: GroupColumns<DB>,
    D: Days,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.sql(Dialect::of(&out)).walk(out)
    }
}

impl<C: Counters, E, B, D: Days> Sums<C, E, B, D> {
    pub(crate) fn sql<DB>(&self, db: Dialect) -> Sql<'_, DB>
    where
        E: Entities<DB>,
        B: GroupColumns<DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let entities = self.entities.condition(db, shape.entity());
        let days = self.days.condition(shape.day());
        let (table, rows) = (shape.table, where_all([entities, days]));
        let sums = db.sums(C::NAMES);
        let Some(by) = self.by.columns(shape.day()) else {
            return db.one_row(C::NAMES.len(), sql!("SELECT {sums} FROM {table}{rows}"));
        };
        sql!("{db.select()}{by}, {sums} FROM {table}{rows} GROUP BY {by} ORDER BY {by}")
    }
}

impl<C, Types, K, By, D> Sums<C, Many<Types, K>, By, D>
where
    C: Counters,
    Types: KeyTypes,
    D: Days,
{
    /// Reads the sums of all keys. Calls `each` with the index of the key and what `read` reads of a row,
    /// which begins with the number of the key in a list.
    pub(crate) fn read_numbered<T, Conn>(
        &self,
        conn: &mut Conn,
        read: impl for<'c, 'a> Fn(&Conn::Row<'c, 'a>) -> deserialize::Result<T>,
        mut each: impl FnMut(usize, T),
    ) -> QueryResult<()>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        By: GroupColumns<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let size = rows::most_numbered::<Conn::Backend>();
        for (chunk, keys) in self.entities.ids.chunks(size).enumerate() {
            let given = keys.len() as i64;
            let len = rows::padded::<Conn::Backend>(keys.len(), true);
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

    /// A query of the sums of the first `given` ones of these keys. Each row begins with the number of its
    /// key in the list, from 1.
    fn numbered<'a, DB>(
        &'a self,
        db: Dialect,
        keys: &'a dyn Values<DB>,
        len: usize,
        given: &'a i64,
    ) -> Sql<'a, DB>
    where
        By: GroupColumns<DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let (select, table, counters) = (db.select(), shape.table, C::NAMES);
        let key = &shape.entity()[..Types::COLUMNS];
        let by = self.by.columns(shape.day());
        let is_one = by.is_none();
        let then_by = by.map(|by| sql!(", {by}"));
        let listed = db.numbered_keys(table, key, keys, len);
        let is_given = sql!(" WHERE {NUMBER} <= {given}");
        let days = || and(self.days.condition(shape.day()));
        // A series sorts its days.
        let order = (!By::HAS_NAMES).then(|| sql!(" ORDER BY {NUMBER}{then_by}"));
        // One way each is the fastest: to sum the rows that are found by the list, and then to number the
        // sums; a subquery for each key; or a join, which reads the rows once for several counters.
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
