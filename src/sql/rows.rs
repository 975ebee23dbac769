//! Statements for a list of rows, and for many keys.

use std::convert::identity;

use super::upsert::STORED;
use super::{
    CounterBackend, Dialect, Number, Part, Sql, Uncached, Values, aliased, arrays, list, numbered,
    row, sql,
};
use crate::shape::{Name, TableName};

/// The name of a list of rows in a `FROM`.
pub(crate) const WANTED: &str = "wanted";

/// The list's column that has the number of the row, from 1.
pub(crate) const NUMBER: &str = "wanted.ordinality";

/// The names of a list's columns: a key, and two days.
pub(crate) const WANTED_KEY: [&str; 7] =
    numbered!(identity, "entity": "" "_1" "_2" "_3" "_4" "_5" "_6");

/// The names that PostgreSQL and SQLite give to the columns of a `VALUES` list. They are enough for
/// a key, and for eight counters twice.
const LISTED: [&str; 21] =
    numbered!(identity, "column": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);

/// The maximum number of keys that one read or one deletion lists. MySQL and MariaDB compare every
/// key that they find with every listed one.
pub(crate) fn max_numbered_keys<DB: CounterBackend>() -> usize {
    match DB::DIALECT {
        Some(Dialect::PostgreSql) => usize::MAX,
        Some(Dialect::Sqlite) => 1_000,
        _ => 100,
    }
}

/// How many keys to list instead of `keys`, so that few different statements are prepared.
pub(crate) fn padded<DB: CounterBackend>(keys: usize) -> usize {
    if DB::HAS_ARRAYS {
        keys
    } else {
        keys.next_power_of_two()
    }
}

/// Like [`padded`], for a query that begins with [`Dialect::select`]. On MySQL and MariaDB, the
/// list isn't padded, because the query is prepared every time.
pub(crate) fn padded_for_query<DB: CounterBackend>(keys: usize) -> usize {
    match DB::DIALECT {
        Some(Dialect::MySql) => keys,
        _ => padded::<DB>(keys),
    }
}

/// How many of the `rows` that are left the next statement inserts. With arrays, that's all of
/// them. Without, it's the largest power of two up to `rows` and up to 256. So there are nine
/// different statements, and they stay far below any database's limit of bind values.
pub(crate) fn rows_in_next_insert<DB: CounterBackend>(rows: usize) -> usize {
    if DB::HAS_ARRAYS {
        rows
    } else {
        1 << rows.ilog2().min(8)
    }
}

/// The maximum number of rows in a list if each has this many `columns`. MariaDB reads a list of
/// 1,000 values or more as a table (`in_predicate_conversion_threshold`), and then locks every row
/// of a small counter table.
pub(crate) fn max_listed_rows<DB: CounterBackend>(columns: usize) -> usize {
    if Dialect::MySql.could_be::<DB>() {
        999 / columns
    } else {
        usize::MAX
    }
}

/// The values of a listed row.
pub(crate) type Row<'a, DB> = Vec<Sql<'a, DB>>;

impl Dialect {
    /// `FROM` the table, restricted to a list of keys. It isn't cached, because the text differs
    /// for every number of rows.
    ///
    /// MySQL and MariaDB lock every row that they read, so this forces them to use the primary key.
    /// They would still scan it for a query that reads nothing but the key (see
    /// [`rows_to_delete`](Dialect::rows_to_delete)), and MariaDB would also scan it for a list of
    /// [1,000 values](max_listed_rows) or more.
    pub(crate) fn listed_rows<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        rows: Vec<Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        let is_listed = self.is_listed(key, rows.into_iter());
        sql!("{Uncached}FROM {table}{self.by_key()} WHERE {is_listed}")
    }

    /// `DELETE FROM` the table, restricted to a list of keys. For an `IN`, MySQL and MariaDB would
    /// scan the primary key of a small table, and wait for the locks of other rows. With a join,
    /// they find every row by its key.
    pub(crate) fn rows_to_delete<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        rows: Vec<Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        if self != Dialect::MySql {
            return sql!("DELETE {self.listed_rows(table, key, rows)}");
        }
        let names = &WANTED_KEY[..key.len()];
        let wanted = self.list_of(rows, table, key, names, None);
        let stored = self.join(table);
        let is_wanted = is_wanted(STORED, key);
        sql!("{Uncached}DELETE {STORED} FROM {wanted}{stored} ON {is_wanted}")
    }

    /// A condition: the columns `key` are one of these `len` keys.
    pub(crate) fn is_in<'a, DB: CounterBackend>(
        self,
        key: &[Name<'a>],
        keys: &'a dyn Values<DB>,
        len: usize,
    ) -> Sql<'a, DB> {
        if DB::HAS_ARRAYS {
            let values = &arrays(keys, 0..len);
            return match key {
                [column] => sql!("{*column} = ANY({values})"),
                _ => sql!("({key}) IN (SELECT * FROM unnest({values}))"),
            };
        }
        // For a list of just one key of several columns, MariaDB's `DELETE` would read and lock all
        // rows, so the key is listed twice.
        let repeats_key = self == Dialect::MySql && len == 1 && key.len() > 1;
        let rows = (0..len).chain(repeats_key.then_some(0));
        self.is_listed(key, rows.map(|i| row(keys, i)))
    }

    /// Like [`is_in`](Dialect::is_in), but without arrays.
    pub(crate) fn is_listed<'a, DB: CounterBackend>(
        self,
        key: &[Name<'a>],
        rows: impl Iterator<Item = Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        if let [column] = key {
            let values = list(", ", rows.flatten());
            return sql!("{column} IN ({values})");
        }
        // With `VALUES`, the list would be a table, for which MySQL and MariaDB read all rows.
        // SQLite requires it.
        let values = match self {
            Dialect::MySql => "",
            _ => "VALUES ",
        };
        sql!("({key}) IN ({values}{tuples(rows)})")
    }

    /// ` FROM` a list of keys and their numbers, from 1. `key` are their columns in `table`.
    pub(crate) fn numbered_keys<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        keys: &'a dyn Values<DB>,
        len: usize,
    ) -> Sql<'a, DB> {
        let names = &WANTED_KEY[..key.len()];
        if DB::HAS_ARRAYS {
            let values = &arrays(keys, 0..len);
            let names = list(", ", names.iter().copied());
            return sql!(
                " FROM unnest({values}) WITH ORDINALITY AS {WANTED} ({names}, ordinality)"
            );
        }
        let rows = (0..len).map(|i| row(keys, i));
        self.numbered_rows(table, key, rows)
    }

    /// Like [`numbered_keys`](Dialect::numbered_keys), but without arrays.
    pub(crate) fn numbered_rows<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        rows: impl Iterator<Item = Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        let rows = rows.enumerate().map(|(i, mut row)| {
            row.push(sql!("{Number(i + 1)}"));
            row
        });
        let number = match self {
            Dialect::MySql => sql!("0"),
            _ => sql!("CAST({LISTED[key.len()]} AS BIGINT)"),
        };
        let names = &WANTED_KEY[..key.len()];
        let wanted = self.list_of(rows, table, key, names, Some(number));
        sql!(" FROM {wanted}")
    }

    /// Joins numbered keys to the counter table by its columns `key`.
    pub(crate) fn join_numbered<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        keys: &'a dyn Values<DB>,
        len: usize,
    ) -> Sql<'a, DB> {
        // With the join alone, PostgreSQL's planner scans a whole table of about 100,000 rows. If
        // the key has several columns, this condition on the first one could be true for most rows,
        // so it's left out.
        let by_array = DB::HAS_ARRAYS && key.len() == 1;
        let is_in = by_array.then(|| sql!(" AND {table.name}.{self.is_in(key, keys, len)}"));
        sql!(" JOIN {table} ON {is_wanted(table.name, key)}{is_in}")
    }

    /// Joins numbered keys and days to the counter table by its columns `key`, the last of which is
    /// the day. If the list `has_last` the last day of a period too, this joins every row of the
    /// period.
    pub(crate) fn join_days<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        has_last: bool,
    ) -> Sql<'a, DB> {
        let join = self.join(table);
        let Some((day, entity)) = key.split_last().filter(|_| has_last) else {
            return sql!("{join} ON {is_wanted(STORED, key)}");
        };
        let and = if entity.is_empty() { "" } else { " AND " };
        let [first, last] = [0, 1].map(|i| WANTED_KEY[entity.len() + i]);
        sql!(
            "{join} ON {is_wanted(STORED, entity)}{and}{*day} BETWEEN {WANTED}.{first} AND {WANTED}.{last}"
        )
    }

    fn join<'a, DB: CounterBackend>(self, table: TableName<'a>) -> Sql<'a, DB> {
        match self {
            Dialect::MySql => sql!(" STRAIGHT_JOIN {table} AS {STORED}{self.by_key()}"),
            _ => sql!(" JOIN {table} AS {STORED}"),
        }
    }

    /// A list of rows as a table in a `FROM`. Its columns have the types of `columns` in `table`,
    /// and are called `names`. `number` is one more column.
    pub(crate) fn list_of<'a, DB: CounterBackend>(
        self,
        rows: impl IntoIterator<Item = Row<'a, DB>>,
        table: TableName<'a>,
        columns: &[Name<'a>],
        names: &[&'static str],
        number: Option<Sql<'a, DB>>,
    ) -> Sql<'a, DB> {
        let comma = if columns.is_empty() { "" } else { ", " };
        let number = number.map(|number| sql!("{comma}{number} AS ordinality"));
        if self == Dialect::MySql {
            // MariaDB can't name the columns of a `VALUES` list. So the list begins with a query of
            // the table that returns no rows, and gets its names, types and collations from it.
            // With a false condition instead of the limit, Vitess would read the list once for each
            // shard.
            let rows = rows.into_iter().map(|row| sql!(" UNION ALL SELECT {row}"));
            let rows = list("", rows);
            let columns = aliased(columns.iter().copied(), names);
            return sql!("((SELECT {columns}{number} FROM {table} LIMIT 0){rows}) AS {WANTED}");
        }
        let rows = tuples(rows);
        let columns = aliased(LISTED[..columns.len()].iter().copied(), names);
        sql!("(SELECT {columns}{number} FROM (VALUES {rows}) AS listed) AS {WANTED}")
    }
}

/// A condition: the columns `key` of a table equal those of a listed key.
pub(crate) fn is_wanted<'a, DB: CounterBackend>(
    table: impl Part<'a, DB> + Copy,
    key: &[Name<'a>],
) -> Sql<'a, DB> {
    let pairs = key.iter().zip(WANTED_KEY);
    let equal = pairs.map(|(column, name)| sql!("{table}.{*column} = {WANTED}.{name}"));
    list(" AND ", equal)
}

/// The values of rows: `(?, ?), (?, ?)`.
pub(crate) fn tuples<'a, DB: CounterBackend>(
    rows: impl IntoIterator<Item = Row<'a, DB>>,
) -> Sql<'a, DB> {
    list(", ", rows.into_iter().map(|row| sql!("({row})")))
}

/// A condition: `(a, b) > (?, ?)`, or with `<=`. MySQL finds no index range for row values, so it
/// gets `a > ? OR a = ? AND (b > ?)` instead.
pub(crate) fn compare<'a, DB: CounterBackend>(
    db: Dialect,
    key: &[impl Part<'a, DB>],
    compare: &'static str,
    to: &[Sql<'a, DB>],
) -> Sql<'a, DB> {
    let ([others @ .., last], [values @ .., to_last]) = (key, to) else {
        return Sql(Vec::new());
    };
    if others.is_empty() {
        return sql!("{*last}{compare}{to_last}");
    }
    if db != Dialect::MySql {
        return sql!("({key}){compare}({to})");
    }
    let strict = if compare == " > " { " > " } else { " < " };
    let mut compared = sql!("{*last}{compare}{to_last}");
    for (name, value) in others.iter().zip(values).rev() {
        compared = sql!("{*name}{strict}{value} OR {*name} = {value} AND ({compared})");
    }
    sql!("({compared})")
}
