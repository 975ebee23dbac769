//! Reading the sums of each of several keys, in one query.

use std::collections::BTreeMap;

use diesel::connection::LoadConnection;
use diesel::{QueryResult, deserialize};

use crate::key::{BindKey, KeyTypes, columns_of, padded};
use crate::read::days::Days;
use crate::read::sums::{GroupColumns, Many, Sums};
use crate::shape::Name;
use crate::sql::rows::{self, is_wanted};
use crate::sql::sum::SUMS;
use crate::sql::{
    Binds as _, CounterBackend, Dialect, NUMBER, Number, STORED, Sql, Uncached, Values, and, list,
    load, row, sql,
};
use crate::typed::counters::Counters;
use crate::typed::table::CounterTable;

/// A limit so high that it limits nothing.
const NO_LIMIT: &str = "9223372036854775807";

/// The keys of a query.
struct KeyList<'a, DB> {
    db: Dialect,
    /// The columns of the keys.
    columns: &'static [Name<'static>],
    values: &'a dyn Values<DB>,
    /// The number of keys in the keys.
    len: usize,
    /// The number of keys to read. The list repeats the last one, so that few different statements
    /// are prepared.
    given: &'a i64,
}

impl<C, Types, K, By, D> Sums<C, Many<Types, K>, By, D>
where
    C: Counters,
    Types: KeyTypes,
    D: Days,
{
    /// Reads the sums of all keys. For every row, calls `each` with the index of its key, and with
    /// what `read` returns for the row. A row's first field is the number of its key in the
    /// statement, starting at 1.
    pub(crate) fn read_each_key<T, Conn>(
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
        let columns = &C::Table::shape().entity()[..Types::COLUMNS];
        // The places of each key, which can be given more than once.
        let mut places = BTreeMap::<&K, Vec<usize>>::new();
        for (place, key) in self.entities.ids.iter().enumerate() {
            places.entry(key).or_default().push(place);
        }
        let mut keys = Vec::from_iter(places);
        keys.sort_unstable_by_key(|(_, places)| places[0]);
        for keys in keys.chunks(rows::max_numbered_keys::<Conn::Backend>()) {
            let given = keys.len() as i64;
            let len = rows::padded_for_query::<Conn::Backend>(keys.len());
            let ids = keys.iter().map(|(key, _)| (*key).clone());
            let ids = Vec::from_iter(ids);
            let ids = columns_of(padded(&ids, len));
            let found = load(
                conn,
                |db| {
                    self.sums_by_key_number(KeyList {
                        db,
                        columns,
                        values: &ids,
                        len,
                        given: &given,
                    })
                },
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

    /// A query for the sums of each key. A row begins with the number of its key in the list,
    /// starting at 1. Every case has a fastest way.
    fn sums_by_key_number<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let is_total = self.by.columns().is_none();
        match keys.db {
            Dialect::MySql => match keys.columns {
                [column] if Types::is_exact() => self.numbered_by_field(keys, *column),
                _ => self.union_of_keys(keys),
            },
            Dialect::PostgreSql if By::HAS_NAMES => self.join_of_sums(keys),
            _ if is_total && C::NAMES.len() <= 2 => self.subqueries(keys),
            // It reads the rows only once for several counters.
            _ => self.sums_of_join(keys),
        }
    }

    /// On MySQL and MariaDB, numbers the rows by their key: `FIELD(article_id, 7, 3)`.
    fn numbered_by_field<'a, DB>(&'a self, keys: KeyList<'a, DB>, column: Name<'a>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let KeyList {
            db, values, len, ..
        } = keys;
        let table = C::Table::shape().table;
        let then_by = self.then_by();
        let listed = list(", ", (0..len).flat_map(|i| row(values, i)));
        let is_in = db.is_in(keys.columns, values, len);
        let days = self.and_days();
        // A series sorts its days itself.
        let order = (!By::HAS_NAMES).then(|| sql!(" ORDER BY 1{then_by}"));
        sql!(
            "{db.select()}FIELD({column}, {listed}){then_by}, {db.sums(C::NAMES)} FROM {table} \
             WHERE {is_in}{days} GROUP BY {column}{then_by}{order}"
        )
    }

    /// On MySQL and MariaDB, a query for each key. `FIELD` takes only one column, and if two texts
    /// are equal to the column, it finds only the first one.
    fn union_of_keys<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let table = C::Table::shape().table;
        let sums = keys.db.sums(C::NAMES);
        let queries = (0..*keys.given as usize).map(|i| {
            let is_key = keys.columns.iter().zip(row(keys.values, i));
            let is_key = is_key.map(|(column, value)| sql!("{*column} = {value}"));
            let is_key = list(" AND ", is_key);
            let number = Number(i + 1);
            let (then_by, days) = (self.then_by(), self.and_days());
            let sums = sql!("{number}{then_by}, {sums} FROM {table} WHERE {is_key}{days}");
            match self.by.columns() {
                None => sql!("SELECT {sums}"),
                Some(by) if By::HAS_NAMES => sql!("SELECT {sums} GROUP BY {by}"),
                // Without a limit, MySQL and MariaDB don't sort a part of a UNION.
                Some(by) => sql!("(SELECT {sums} GROUP BY {by} ORDER BY {by} LIMIT {NO_LIMIT})"),
            }
        });
        let queries = list(" UNION ALL ", queries);
        sql!("{Uncached}{queries}")
    }

    /// On PostgreSQL, sums the rows of the listed keys, and then numbers the sums.
    fn join_of_sums<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let KeyList {
            db,
            values,
            len,
            columns,
            ..
        } = keys;
        let table = C::Table::shape().table;
        let then_by = self.then_by();
        let names = SUMS[..C::NAMES.len()].iter();
        let names = list(", ", names.map(|sum| sql!("totals.{*sum}")));
        let listed = db.numbered_keys(table, columns, values, len);
        let is_wanted = is_wanted("totals", columns);
        let is_in = db.is_in(columns, values, len);
        let days = self.and_days();
        let is_given = keys.is_given();
        sql!(
            "{db.select()}{NUMBER}{then_by}, {names}{listed} JOIN (\
             SELECT {columns}{then_by}, {db.sums(C::NAMES)} FROM {table} WHERE {is_in}{days} \
             GROUP BY {columns}{then_by}) AS totals ON {is_wanted}{is_given}"
        )
    }

    /// A subquery for each key and counter.
    fn subqueries<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        DB: CounterBackend,
    {
        let KeyList {
            db,
            values,
            len,
            columns,
            ..
        } = keys;
        let table = C::Table::shape().table;
        let sums = C::NAMES.iter().map(|counter| {
            let (sum, days) = (db.sum(*counter), self.and_days());
            let is_wanted = is_wanted(STORED, columns);
            sql!(", (SELECT {sum} FROM {table} AS {STORED} WHERE {is_wanted}{days})")
        });
        let sums = list("", sums);
        let listed = db.numbered_keys(table, columns, values, len);
        let is_given = keys.is_given();
        sql!("{db.select()}{NUMBER}{sums}{listed}{is_given}")
    }

    /// Joins the rows to the list, and sums them by the number of their key.
    fn sums_of_join<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let KeyList {
            db,
            values,
            len,
            columns,
            ..
        } = keys;
        let table = C::Table::shape().table;
        let then_by = self.then_by();
        let listed = db.numbered_keys(table, columns, values, len);
        let joined = db.join_numbered(table, columns, values, len);
        let (is_given, days) = (keys.is_given(), self.and_days());
        let order = (!By::HAS_NAMES).then(|| sql!(" ORDER BY {NUMBER}{then_by}"));
        sql!(
            "{db.select()}{NUMBER}{then_by}, {db.sums(C::NAMES)}{listed}{joined}{is_given}{days} \
             GROUP BY {NUMBER}{then_by}{order}"
        )
    }

    /// `, day`, if the sums are grouped.
    fn then_by<DB>(&self) -> Option<Sql<'_, DB>>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        self.by.columns().map(|by| sql!(", {by}"))
    }

    /// ` AND day >= …`, if there are days.
    fn and_days<DB: CounterBackend>(&self) -> Option<Sql<'_, DB>> {
        and(self.days.condition(C::Table::shape().day()))
    }
}

impl<'a, DB: CounterBackend> KeyList<'a, DB> {
    /// Without arrays, the list is padded.
    fn is_given(&self) -> Option<Sql<'a, DB>> {
        let given = self.given;
        (!DB::HAS_ARRAYS).then(|| sql!(" WHERE {NUMBER} <= {given}"))
    }
}
