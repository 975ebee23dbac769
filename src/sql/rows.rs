//! Statements for a list of rows, and for many keys.

use std::convert::identity;
use std::iter;

use super::upsert::STORED;
use super::{
    CounterBackend, Dialect, Number, Part, Sql, Uncached, Values, aliased, arrays, list, numbered,
    row, sql,
};
use crate::shape::{Name, Shape, TableName};

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

/// Returns the length to which a list of `len` keys is padded, so that few different statements are
/// prepared: 8 for 5 keys. With arrays, the statement doesn't depend on the length.
pub(crate) fn padded_len<DB: CounterBackend>(len: usize) -> usize {
    if DB::HAS_ARRAYS {
        len
    } else {
        len.next_power_of_two()
    }
}

/// Like [`padded_len`], for a query that begins with [`Dialect::select`]. On MySQL and MariaDB, the
/// list isn't padded, because the query is prepared every time.
pub(crate) fn padded_len_for_query<DB: CounterBackend>(len: usize) -> usize {
    match DB::DIALECT {
        Some(Dialect::MySql) => len,
        _ => padded_len::<DB>(len),
    }
}

/// Returns how many of the rows that are left the next statement inserts. With arrays, that's all
/// of them. Without, it's the largest power of two up to `rows_left` and up to 256. So there are
/// nine different statements, and they stay far below any database's limit of bind values.
pub(crate) fn rows_in_next_insert<DB: CounterBackend>(rows_left: usize) -> usize {
    const MAX_EXPONENT: u32 = 8;
    if DB::HAS_ARRAYS {
        rows_left
    } else {
        1 << rows_left.ilog2().min(MAX_EXPONENT)
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
    /// The rows of the table with these keys: `FROM article_counters WHERE (article_id, day) IN (…)`.
    /// The statement isn't cached, because its text differs for every number of rows.
    ///
    /// MySQL and MariaDB lock every row that they read, so this forces them to use the primary key.
    /// They would still scan it for a query that reads nothing but the key (see
    /// [`delete_listed_rows`](Dialect::delete_listed_rows)), and MariaDB would also scan it for a
    /// list of [1,000 values](max_listed_rows) or more.
    pub(crate) fn listed_rows_clause<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        rows: Vec<Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        let is_listed = self.is_listed(key, rows.into_iter());
        sql!("{Uncached}FROM {table}{self.index_hint()} WHERE {is_listed}")
    }

    /// A `DELETE` of the rows with these keys. For an `IN`, MySQL and MariaDB would scan the primary
    /// key of a small table, and wait for the locks of other rows. With a join, they find every row
    /// by its key.
    pub(crate) fn delete_listed_rows<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        rows: Vec<Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        if self != Dialect::MySql {
            return sql!("DELETE {self.listed_rows_clause(table, key, rows)}");
        }
        let names = &WANTED_KEY[..key.len()];
        let list = self.list_of(rows, table, key, names, None);
        let join = self.join(table);
        let is_wanted = is_wanted(STORED, key);
        sql!("{Uncached}DELETE {STORED} FROM {list}{join} ON {is_wanted}")
    }

    /// A condition: the columns have the values of one of these `len` keys, for example
    /// `article_id = ANY(?)` with arrays, or `article_id IN (?, ?)`.
    pub(crate) fn is_in<'a, DB: CounterBackend>(
        self,
        columns: &[Name<'a>],
        keys: &'a dyn Values<DB>,
        len: usize,
    ) -> Sql<'a, DB> {
        if DB::HAS_ARRAYS {
            let values = &arrays(keys, 0..len);
            return match columns {
                [column] => sql!("{*column} = ANY({values})"),
                _ => sql!("({columns}) IN (SELECT * FROM unnest({values}))"),
            };
        }
        let mut rows = Vec::from_iter((0..len).map(|i| row(keys, i)));
        // For a list of just one key of several columns, MariaDB's `DELETE` would read and lock all
        // rows, so the key is listed twice.
        if self == Dialect::MySql && len == 1 && columns.len() > 1 {
            let first = 0;
            rows.push(row(keys, first));
        }
        self.is_listed(columns, rows.into_iter())
    }

    /// Like [`is_in`](Dialect::is_in), but without arrays: `article_id IN (?, ?)`, or
    /// `(article_id, day) IN ((?, ?), (?, ?))`.
    pub(crate) fn is_listed<'a, DB: CounterBackend>(
        self,
        columns: &[Name<'a>],
        rows: impl Iterator<Item = Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        if let [column] = columns {
            let values = list(", ", rows.flatten());
            return sql!("{column} IN ({values})");
        }
        // With `VALUES`, the list would be a table, for which MySQL and MariaDB read all rows.
        // SQLite requires it.
        let keyword = match self {
            Dialect::MySql => "",
            _ => "VALUES ",
        };
        sql!("({columns}) IN ({keyword}{tuples(rows)})")
    }

    /// ` FROM` a list of these `len` keys and their numbers, from 1. `columns` are the columns of
    /// `table` that have the keys.
    pub(crate) fn numbered_keys_clause<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        columns: &[Name<'a>],
        keys: &'a dyn Values<DB>,
        len: usize,
    ) -> Sql<'a, DB> {
        if DB::HAS_ARRAYS {
            let values = &arrays(keys, 0..len);
            let names = list(", ", WANTED_KEY[..columns.len()].iter().copied());
            return sql!(
                " FROM unnest({values}) WITH ORDINALITY AS {WANTED} ({names}, ordinality)"
            );
        }
        let rows = (0..len).map(|i| row(keys, i));
        self.numbered_rows_clause(table, columns, rows)
    }

    /// Like [`numbered_keys_clause`](Dialect::numbered_keys_clause), but without arrays.
    pub(crate) fn numbered_rows_clause<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        columns: &[Name<'a>],
        rows: impl Iterator<Item = Row<'a, DB>>,
    ) -> Sql<'a, DB> {
        let rows = rows.zip(1..).map(|(mut row, number)| {
            row.push(sql!("{Number(number)}"));
            row
        });
        let number = match self {
            // This is for a query that returns no rows, and only gives the column its type.
            Dialect::MySql => sql!("0"),
            _ => sql!("CAST({LISTED[columns.len()]} AS BIGINT)"),
        };
        let names = &WANTED_KEY[..columns.len()];
        let list = self.list_of(rows, table, columns, names, Some(number));
        sql!(" FROM {list}")
    }

    /// The ` JOIN` of the counter table that follows
    /// [`numbered_keys_clause`](Dialect::numbered_keys_clause). Its `columns` have the keys.
    pub(crate) fn join_numbered<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        columns: &[Name<'a>],
        keys: &'a dyn Values<DB>,
        len: usize,
    ) -> Sql<'a, DB> {
        // With the join alone, PostgreSQL's planner scans a whole table of about 100,000 rows. If
        // the key has several columns, this condition on the first one could be true for most rows,
        // so it's left out.
        let name = table.name;
        let by_array = DB::HAS_ARRAYS && columns.len() == 1;
        let and_is_in = by_array.then(|| sql!(" AND {name}.{self.is_in(columns, keys, len)}"));
        sql!(" JOIN {table} ON {is_wanted(name, columns)}{and_is_in}")
    }

    /// The ` JOIN` of the counter table that follows a list of numbered keys and days. If the list
    /// also has the last day of each period, this joins all rows of the period.
    pub(crate) fn join_days<'a, DB: CounterBackend>(
        self,
        shape: &Shape<'a>,
        has_last_day: bool,
    ) -> Sql<'a, DB> {
        let join = self.join(shape.table);
        if !has_last_day {
            let is_wanted = is_wanted(STORED, shape.entity_and_day());
            return sql!("{join} ON {is_wanted}");
        }
        let (entity, day) = (shape.entity(), shape.day());
        let (first, last) = (WANTED_KEY[entity.len()], WANTED_KEY[entity.len() + 1]);
        let is_entity = (!entity.is_empty()).then(|| is_wanted(STORED, entity));
        let is_in_period = sql!("{day} BETWEEN {WANTED}.{first} AND {WANTED}.{last}");
        let conditions = list(" AND ", is_entity.into_iter().chain([is_in_period]));
        sql!("{join} ON {conditions}")
    }

    /// ` JOIN article_counters AS counters`, after a list of rows. The caller adds the ` ON`.
    fn join<'a, DB: CounterBackend>(self, table: TableName<'a>) -> Sql<'a, DB> {
        match self {
            Dialect::MySql => sql!(" STRAIGHT_JOIN {table} AS {STORED}{self.index_hint()}"),
            _ => sql!(" JOIN {table} AS {STORED}"),
        }
    }

    /// A list of rows as a table in a `FROM`: `(…) AS wanted`. Its columns have the types of
    /// `columns` in `table`, and are called `names`. If there's a `number`, that's the SQL for one
    /// more column, `ordinality`.
    pub(crate) fn list_of<'a, DB: CounterBackend>(
        self,
        rows: impl IntoIterator<Item = Row<'a, DB>>,
        table: TableName<'a>,
        columns: &[Name<'a>],
        names: &[&'static str],
        number: Option<Sql<'a, DB>>,
    ) -> Sql<'a, DB> {
        let and_number = number.map(|number| sql!(", {number} AS ordinality"));
        if self == Dialect::MySql {
            // MariaDB can't name the columns of a `VALUES` list. So the list begins with a query of
            // the table that returns no rows, and gets its names, types and collations from it.
            // With a false condition instead of the limit, Vitess would read the list once for each
            // shard.
            let columns = aliased(columns.iter().copied(), names);
            let no_rows = sql!("(SELECT {columns}{and_number} FROM {table} LIMIT 0)");
            let rows = rows.into_iter().map(|row| sql!("SELECT {row}"));
            let queries = list(" UNION ALL ", iter::once(no_rows).chain(rows));
            return sql!("({queries}) AS {WANTED}");
        }
        let columns = aliased(LISTED[..columns.len()].iter().copied(), names);
        let rows = tuples(rows);
        sql!("(SELECT {columns}{and_number} FROM (VALUES {rows}) AS listed) AS {WANTED}")
    }
}

/// A condition: these columns of a table have the values of a listed key, for example
/// `counters.article_id = wanted.entity`.
pub(crate) fn is_wanted<'a, DB: CounterBackend>(
    table: impl Part<'a, DB> + Copy,
    columns: &[Name<'a>],
) -> Sql<'a, DB> {
    let pairs = columns.iter().zip(WANTED_KEY);
    let equal = pairs.map(|(column, name)| sql!("{table}.{*column} = {WANTED}.{name}"));
    list(" AND ", equal)
}

/// The values of rows: `(?, ?), (?, ?)`.
pub(crate) fn tuples<'a, DB: CounterBackend>(
    rows: impl IntoIterator<Item = Row<'a, DB>>,
) -> Sql<'a, DB> {
    list(", ", rows.into_iter().map(|row| sql!("({row})")))
}

/// A condition: `(a, b) > (?, ?)`. The operator is ` > ` or ` <= `. MySQL finds no index range for
/// row values, so it gets `(a > ? OR a = ? AND (b > ?))` instead.
pub(crate) fn compare<'a, DB: CounterBackend>(
    db: Dialect,
    columns: &[impl Part<'a, DB>],
    operator: &'static str,
    values: &[Sql<'a, DB>],
) -> Sql<'a, DB> {
    let ([columns_before @ .., last_column], [values_before @ .., last_value]) = (columns, values)
    else {
        return Sql(Vec::new());
    };
    if columns_before.is_empty() {
        return sql!("{*last_column}{operator}{last_value}");
    }
    if db != Dialect::MySql {
        return sql!("({columns}){operator}({values})");
    }
    let strict = if operator == " > " { " > " } else { " < " };
    let mut compared = sql!("{*last_column}{operator}{last_value}");
    for (column, value) in columns_before.iter().zip(values_before).rev() {
        compared = sql!("{*column}{strict}{value} OR {*column} = {value} AND ({compared})");
    }
    sql!("({compared})")
}
