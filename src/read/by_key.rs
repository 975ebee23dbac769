//! Reading the sums of each of several keys, in one query.

use std::collections::BTreeMap;

use diesel::connection::LoadConnection;
use diesel::{QueryResult, deserialize};

use crate::key::{BindKey, KeyTypes, columns_of, padded};
use crate::read::days::Days;
use crate::read::sums::{GroupColumns, Many, Sums};
use crate::shape::{Name, TableName};
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

/// The keys that a query lists.
struct KeyList<'a, DB> {
    db: Dialect,
    table: TableName<'static>,
    /// The columns of the keys.
    columns: &'static [Name<'static>],
    values: &'a dyn Values<DB>,
    /// How long the list is. It's padded with its last key, so that few different statements are
    /// prepared.
    len: usize,
    /// How long the list would be without the padding.
    unpadded_len: &'a i64,
}

impl<C, Types, K, By, D> Sums<C, Many<Types, K>, By, D>
where
    C: Counters,
    Types: KeyTypes,
    D: Days,
{
    /// Reads the sums of all keys. For every row, calls `add` with the index of its key in the list
    /// that `of_many` was given, and with what `read` returns for the row. A row's first field is
    /// the number of its key in the statement, starting at 1.
    pub(crate) fn read_each_key<T, Conn>(
        &self,
        conn: &mut Conn,
        read: impl for<'c, 'a> Fn(&Conn::Row<'c, 'a>) -> deserialize::Result<T>,
        mut add: impl FnMut(usize, T),
    ) -> QueryResult<()>
    where
        K: BindKey<Types, Conn::Backend> + Clone + Ord,
        By: GroupColumns<C, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let columns = &C::Table::shape().entity()[..Types::COLUMNS];
        let distinct_keys = self.distinct_keys();
        for keys in distinct_keys.chunks(rows::max_numbered_keys::<Conn::Backend>()) {
            let unpadded_len = keys.len() as i64;
            let len = rows::padded_len_for_query::<Conn::Backend>(keys.len());
            let ids = Vec::from_iter(keys.iter().map(|(key, _)| (*key).clone()));
            let values = columns_of(padded(&ids, len));
            let found = load(
                conn,
                |db| {
                    self.sums_by_key_number(KeyList {
                        db,
                        table: C::Table::shape().table,
                        columns,
                        values: &values,
                        len,
                        unpadded_len: &unpadded_len,
                    })
                },
                |row| {
                    let number_column = 0;
                    let number = Conn::Backend::amount(row, number_column)? as usize;
                    let (_, indexes) = &keys[number - 1];
                    // `T` isn't `Clone`, so this reads the row once for every index.
                    let values = indexes.iter().map(|index| Ok((*index, read(row)?)));
                    values.collect::<deserialize::Result<Vec<_>>>()
                },
            )?;
            for (index, value) in found.into_iter().flatten() {
                add(index, value);
            }
        }
        Ok(())
    }

    /// Returns every key once, with its indexes in the list that `of_many` was given: a key can be
    /// in it more than once. The keys are in the order of the list.
    fn distinct_keys(&self) -> Vec<(&K, Vec<usize>)>
    where
        K: Ord,
    {
        let mut indexes_by_key = BTreeMap::<&K, Vec<usize>>::new();
        for (index, key) in self.entities.ids.iter().enumerate() {
            indexes_by_key.entry(key).or_default().push(index);
        }
        let mut keys = Vec::from_iter(indexes_by_key);
        keys.sort_unstable_by_key(|(_, indexes)| indexes.first().copied());
        keys
    }

    /// A query for the sums of each key: the one that's the fastest for this database and these
    /// columns. A row begins with the number of its key in the list, starting at 1.
    fn sums_by_key_number<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let is_total = self.by.columns().is_none();
        let has_few_counters = C::NAMES.len() <= 2;
        match keys.db {
            Dialect::MySql => match keys.columns {
                // `FIELD` takes one column, and it finds only the first of several equal texts.
                [column] if Types::is_exact() => self.numbered_by_field(keys, *column),
                _ => self.union_of_keys(keys),
            },
            Dialect::PostgreSql if By::HAS_NAMES => self.join_of_sums(keys),
            // There's a subquery for each counter, and each one reads the rows again.
            _ if is_total && has_few_counters => self.subqueries(keys),
            _ => self.sums_of_join(keys),
        }
    }

    /// On MySQL and MariaDB, numbers the rows by their key: `FIELD(article_id, 7, 3)`.
    fn numbered_by_field<'a, DB>(&'a self, keys: KeyList<'a, DB>, column: Name<'a>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let (db, table, is_listed) = (keys.db, keys.table, keys.condition());
        let listed = list(", ", (0..keys.len).flat_map(|i| row(keys.values, i)));
        let (then_by, days) = (self.then_by(), self.and_days());
        let order = self.order_by("1");
        sql!(
            "{db.select()}FIELD({column}, {listed}){then_by}, {db.sums(C::NAMES)} FROM {table} \
             WHERE {is_listed}{days} GROUP BY {column}{then_by}{order}"
        )
    }

    /// On MySQL and MariaDB, a query for each key, where `FIELD` can't number the rows.
    fn union_of_keys<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let indexes = 0..*keys.unpadded_len as usize;
        let queries = indexes.map(|index| self.query_of_one_key(&keys, index));
        let queries = list(" UNION ALL ", queries);
        sql!("{Uncached}{queries}")
    }

    /// The query for the key at this index of the list, as a part of a `UNION`.
    fn query_of_one_key<'a, DB>(&'a self, keys: &KeyList<'a, DB>, index: usize) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let (table, sums) = (keys.table, keys.db.sums(C::NAMES));
        let pairs = keys.columns.iter().zip(row(keys.values, index));
        let is_equal = pairs.map(|(column, value)| sql!("{*column} = {value}"));
        let is_key = list(" AND ", is_equal);
        let number = Number(index + 1);
        let (then_by, days) = (self.then_by(), self.and_days());
        let query = sql!("SELECT {number}{then_by}, {sums} FROM {table} WHERE {is_key}{days}");
        match self.by.columns() {
            None => query,
            Some(by) if By::HAS_NAMES => sql!("{query} GROUP BY {by}"),
            // Without a limit, MySQL and MariaDB don't sort a part of a UNION.
            Some(by) => sql!("({query} GROUP BY {by} ORDER BY {by} LIMIT {NO_LIMIT})"),
        }
    }

    /// On PostgreSQL, sums the rows of the listed keys, and then numbers the sums.
    fn join_of_sums<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let (db, table, columns) = (keys.db, keys.table, keys.columns);
        let (then_by, days) = (self.then_by(), self.and_days());
        let sums = SUMS[..C::NAMES.len()].iter();
        let sums = list(", ", sums.map(|sum| sql!("totals.{*sum}")));
        let is_wanted = is_wanted("totals", columns);
        let (list_clause, is_listed) = (keys.list_clause(), keys.condition());
        let where_unpadded = keys.where_unpadded();
        sql!(
            "{db.select()}{NUMBER}{then_by}, {sums}{list_clause} JOIN (\
             SELECT {columns}{then_by}, {db.sums(C::NAMES)} FROM {table} WHERE {is_listed}{days} \
             GROUP BY {columns}{then_by}) AS totals ON {is_wanted}{where_unpadded}"
        )
    }

    /// A subquery for each key and counter.
    fn subqueries<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        DB: CounterBackend,
    {
        let (db, table) = (keys.db, keys.table);
        let subqueries = C::NAMES.iter().map(|counter| {
            let (sum, days) = (db.sum(*counter), self.and_days());
            let is_wanted = is_wanted(STORED, keys.columns);
            sql!("(SELECT {sum} FROM {table} AS {STORED} WHERE {is_wanted}{days})")
        });
        let subqueries = list(", ", subqueries);
        let (list_clause, where_unpadded) = (keys.list_clause(), keys.where_unpadded());
        sql!("{db.select()}{NUMBER}, {subqueries}{list_clause}{where_unpadded}")
    }

    /// Joins the rows to the list, and sums them by the number of their key.
    fn sums_of_join<'a, DB>(&'a self, keys: KeyList<'a, DB>) -> Sql<'a, DB>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let db = keys.db;
        let (then_by, days) = (self.then_by(), self.and_days());
        let (list_clause, join_rows) = (keys.list_clause(), keys.join_rows());
        let where_unpadded = keys.where_unpadded();
        let order = self.order_by(NUMBER);
        sql!(
            "{db.select()}{NUMBER}{then_by}, {db.sums(C::NAMES)}{list_clause}{join_rows}\
             {where_unpadded}{days} GROUP BY {NUMBER}{then_by}{order}"
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

    /// ` ORDER BY 1, emoji`, for example, if the rows have to be sorted by the number of their key
    /// and by their group. A total has no groups, and a series sorts its days itself.
    fn order_by<DB>(&self, number: &'static str) -> Option<Sql<'_, DB>>
    where
        By: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let then_by = self.then_by();
        (!By::HAS_NAMES).then(|| sql!(" ORDER BY {number}{then_by}"))
    }

    /// ` AND day BETWEEN ? AND ?`, unless all days are read.
    fn and_days<DB: CounterBackend>(&self) -> Option<Sql<'_, DB>> {
        and(self.days.condition(C::Table::shape().day()))
    }
}

impl<'a, DB: CounterBackend> KeyList<'a, DB> {
    /// ` FROM` the list, with each key's number, from 1.
    fn list_clause(&self) -> Sql<'a, DB> {
        let db = self.db;
        db.numbered_keys_clause(self.table, self.columns, self.values, self.len)
    }

    /// ` JOIN` the counter table to the list.
    fn join_rows(&self) -> Sql<'a, DB> {
        let db = self.db;
        db.join_numbered(self.table, self.columns, self.values, self.len)
    }

    /// A condition: a row's key is in the list.
    fn condition(&self) -> Sql<'a, DB> {
        self.db.is_in(self.columns, self.values, self.len)
    }

    /// ` WHERE number <= ?`, because without arrays the list is padded.
    fn where_unpadded(&self) -> Option<Sql<'a, DB>> {
        let unpadded_len = self.unpadded_len;
        (!DB::HAS_ARRAYS).then(|| sql!(" WHERE {NUMBER} <= {unpadded_len}"))
    }
}
