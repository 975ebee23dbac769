//! Sums of counters over the rows of their table: for which entities, on which days, and what they
//! are grouped by.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::connection::LoadConnection;
use diesel::deserialize;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::day::DayRange;
use crate::key::KeyPrefix;
use crate::key::{AnyOf, Entities, StartOf};
use crate::key::{BindKey, HasColumns, KeyOf, KeyTypes, columns_of, padded};
use crate::read::days::{AllDays, Days};
use crate::sql::rows::{self, is_wanted};
use crate::sql::sum::SUMS;
use crate::sql::{
    Binds as _, CounterBackend, Dialect, NUMBER, Number, Part, STORED, Sql, Uncached, Values, and,
    list, load, part, part_of, row, sql, where_both,
};
use crate::typed::counters::{Counters, KeyType};
use crate::typed::table::CounterTable;

/// A query for the sums of the counters `C` of the entities `E` over `Days`, grouped by `By`; made
/// by [`counter_value`](crate::dsl::counter_value()),
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
    /// Sets the entity, by its key or by its model. Defaults to all entities. If you give fewer
    /// values than the key has columns, this reads all entities whose keys begin with them. For
    /// example, `crate_id` reads all versions of a crate.
    pub fn of<K, N>(self, id: K) -> Sums<C, KeyPrefix<K::Types, K::Value>, By, Days>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        Sums::new(KeyPrefix::new(id.into_value()), self.by, self.days)
    }

    /// Sets the entities to those whose keys, or the first columns of their keys, are selected by
    /// `query`, for example
    /// `articles::table.filter(articles::author_id.eq(7)).select(articles::id)`. They are read
    /// together, unlike with [`of_many`](Sums::of_many).
    pub fn of_any<Q>(self, query: Q) -> Sums<C, AnyOf<Q::Query>, By, Days>
    where
        Q: AsQuery<SqlType: StartOf<KeyType<C>>>,
    {
        let entities = AnyOf::new::<KeyType<C>>(query.as_query());
        Sums::new(entities, self.by, self.days)
    }

    /// Sets many entities, by their keys, by the first columns of their keys, or by their models.
    /// `load` returns each one's counts, in the same order. You can give a key more than once. On
    /// PostgreSQL, this is one query. On SQLite, it's one query for every 1,000 keys, and on MySQL,
    /// on MariaDB and with a `MultiConnection`, one for every 100.
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
    /// Reads only the count of `day`. If the table counts by a [`Period`](crate::Period) other than
    /// the day, reads the period that contains `day`.
    pub fn on(self, day: NaiveDate) -> Sums<C, E, By, DayRange> {
        let days = DayRange::period_of(day, C::Table::PERIOD);
        Sums::new(self.entities, self.by, days)
    }

    /// Reads only the counts of a range of days, for example `monday..=today`, `monday..` or
    /// `..today`. An empty or reversed range has no counts. If the table counts by a
    /// [`Period`](crate::Period) other than the day, reads every period that overlaps the range.
    /// Counts without a day are stored under 1970-01-01.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Sums<C, E, By, DayRange> {
        let days = DayRange::whole(days, C::Table::PERIOD);
        Sums::new(self.entities, self.by, days)
    }
}

/// Several entities, given by their keys `K`. The columns of the keys have the SQL types `Types`.
#[derive(Debug, Clone)]
pub struct Many<Types, K> {
    pub(crate) ids: Vec<K>,
    types: PhantomData<fn() -> Types>,
}

// Diesel can't read this query, so the id is never used. Without it, the compiler's error would
// name `QueryId`.
impl<Types, K> QueryId for Many<Types, K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// What sums of `C` are grouped by.
pub trait GroupColumns<C: Counters, DB: CounterBackend> {
    /// Whether the columns are just names, without their table.
    #[doc(hidden)]
    const HAS_NAMES: bool = false;

    /// The columns, or `None` for a single row.
    #[doc(hidden)]
    fn columns(&self) -> Option<Sql<'_, DB>>;

    /// The query. `from` is its end: the `FROM` and the `WHERE`.
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

/// The row of each group, in a query that Diesel can read.
#[diagnostic::on_unimplemented(
    message = "a series is not a query of Diesel's",
    label = "after `counter_series`, write `load`",
    note = "help: `load` returns the first day and the count of each period: `let days: Vec<(NaiveDate, i64)> = counter_series(views).of(id).load(conn)?`"
)]
pub trait GroupRow<C> {
    /// The SQL type of a row.
    #[doc(hidden)]
    type SqlType;
}

impl<C: Counters, E, By: GroupRow<C>, Days> Query for Sums<C, E, By, Days> {
    type SqlType = By::SqlType;
}

/// A single row with the sums of all rows.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Ungrouped;

impl<C: Counters> GroupRow<C> for Ungrouped {
    type SqlType = <C as Expression>::SqlType;
}

impl<C: Counters, DB: CounterBackend> GroupColumns<C, DB> for Ungrouped {
    const HAS_NAMES: bool = true;
    fn columns(&self) -> Option<Sql<'_, DB>> {
        None
    }
}

impl<C, E, By, Days, Conn> RunQueryDsl<Conn> for Sums<C, E, By, Days> {}

/// A total is one row, so `first` is the same as `get_result`.
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

/// A limit so high that it limits nothing.
const ALL: &str = "9223372036854775807";

impl<C, Types, K, By, D> Sums<C, Many<Types, K>, By, D>
where
    C: Counters,
    Types: KeyTypes,
    D: Days,
{
    /// Reads the sums of all keys. For every row, calls `each` with the index of its key, and with
    /// what `read` returns for the row. A row's first field is the number of its key in the
    /// statement, starting at 1.
    pub(crate) fn read_numbered<T, Conn>(
        &self,
        conn: &mut Conn,
        read: impl for<'c, 'a> Fn(&Conn::Row<'c, 'a>) -> deserialize::Result<T>,
        mut each: impl FnMut(usize, T),
    ) -> QueryResult<()>
    where
        K: BindKey<Types, Conn::Backend> + Clone + Ord,
        By: GroupColumns<C, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        // The places of each key, which can be given more than once.
        let mut places = BTreeMap::<&K, Vec<usize>>::new();
        for (place, key) in self.entities.ids.iter().enumerate() {
            places.entry(key).or_default().push(place);
        }
        let mut keys = Vec::from_iter(places);
        keys.sort_unstable_by_key(|(_, places)| places[0]);
        for keys in keys.chunks(rows::most_numbered::<Conn::Backend>()) {
            let given = keys.len() as i64;
            let len = rows::padded_for_query::<Conn::Backend>(keys.len());
            let ids = keys.iter().map(|(key, _)| (*key).clone());
            let ids = Vec::from_iter(ids);
            let ids = columns_of(padded(&ids, len));
            let found = load(
                conn,
                |db| self.numbered(db, &ids, len, &given),
                |row| {
                    let number = Conn::Backend::amount(row, 0)? as usize;
                    let places = keys[number - 1].1.iter();
                    let rows = places.map(|place| Ok((*place, read(row)?)));
                    rows.collect::<deserialize::Result<Vec<_>>>()
                },
            )?;
            for (place, row) in found.into_iter().flatten() {
                each(place, row);
            }
        }
        Ok(())
    }

    /// A query for the sums of the first `given` keys. Each row begins with the number of its key
    /// in the list, starting at 1.
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
        let select = db.select();
        let table = shape.table;
        let counters = C::NAMES;
        let key = &shape.entity()[..Types::COLUMNS];
        let by = self.by.columns();
        let is_one = by.is_none();
        let then_by = by.map(|by| sql!(", {by}"));
        let days = || and(self.days.condition(shape.day()));
        if db == Dialect::MySql {
            let sums = db.sums(counters);
            let exact_column = match key {
                [column] if Types::is_exact() => Some(*column),
                _ => None,
            };
            if let Some(column) = exact_column {
                let values = list(", ", (0..len).flat_map(|i| row(keys, i)));
                let is_in = db.is_in(key, keys, len);
                let order = (!By::HAS_NAMES).then(|| sql!(" ORDER BY 1{then_by}"));
                return sql!(
                    "{select}FIELD({column}, {values}){then_by}, {sums} FROM {table} \
                     WHERE {is_in}{days()} GROUP BY {column}{then_by}{order}"
                );
            }
            // `FIELD` takes only one column, and if two texts are equal to the column, it finds
            // only the first one. So all other keys get a query each.
            let each = (0..*given as usize).map(|i| {
                let is_key = key.iter().zip(row(keys, i));
                let is_key = is_key.map(|(column, value)| sql!("{*column} = {value}"));
                let is_key = list(" AND ", is_key);
                let number = Number(i + 1);
                let sums = sql!("{number}{then_by}, {sums} FROM {table} WHERE {is_key}{days()}");
                match self.by.columns() {
                    None => sql!("SELECT {sums}"),
                    Some(by) if By::HAS_NAMES => sql!("SELECT {sums} GROUP BY {by}"),
                    // Without a limit, MySQL and MariaDB don't sort a part of a UNION.
                    Some(by) => sql!("(SELECT {sums} GROUP BY {by} ORDER BY {by} LIMIT {ALL})"),
                }
            });
            let each = list(" UNION ALL ", each);
            return sql!("{Uncached}{each}");
        }
        let listed = db.numbered_keys(table, key, keys, len);
        // Without arrays, the list is padded, so that few different statements are prepared.
        let is_given = (!DB::HAS_ARRAYS).then(|| sql!(" WHERE {NUMBER} <= {given}"));
        // A series sorts its days itself.
        let order = (!By::HAS_NAMES).then(|| sql!(" ORDER BY {NUMBER}{then_by}"));
        // Every case has a fastest way. A series or a total on PostgreSQL: sum the listed keys, and
        // then number the sums. One or two counters without a group: a subquery for each key.
        // Everything else: a join, which reads the rows only once for several counters.
        if By::HAS_NAMES && db == Dialect::PostgreSql {
            let sums = SUMS[..counters.len()]
                .iter()
                .map(|sum| sql!("totals.{*sum}"));
            let sums = list(", ", sums);
            let is_wanted = is_wanted("totals", key);
            let is_in = db.is_in(key, keys, len);
            return sql!(
                "{select}{NUMBER}{then_by}, {sums}{listed} JOIN (\
                 SELECT {key}{then_by}, {db.sums(counters)} FROM {table} WHERE {is_in}{days()} \
                 GROUP BY {key}{then_by}) AS totals ON {is_wanted}{is_given}"
            );
        }
        if is_one && counters.len() <= 2 {
            let sums = counters.iter().map(|counter| {
                let sum = db.sum(*counter);
                sql!(", (SELECT {sum} FROM {table} AS {STORED} WHERE {is_wanted(STORED, key)}{days()})")
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
