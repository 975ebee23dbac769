//! Copying totals: compares the rows of the parent table with them, and writes the ones that
//! differ.

use std::convert::identity;
use std::fmt::Debug;

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::result::Error;

use crate::day::DayRange;
use crate::error::integer_overflow;
use crate::key::KeyPrefix;
use crate::key::{BindKey, KeyTypes, OwnedKey};
use crate::merge::Ends;
use crate::merge::materialize::Materialize;
use crate::read::days::Days as _;
use crate::shape::Name;
use crate::sql::rows::{self, WANTED, WANTED_KEY};
use crate::sql::transaction::{begin_read_committed, read_all_rows};
use crate::sql::{
    Bind, Binds as _, CounterBackend, Dialect, Number, Part, Sql, Uncached, aliased, and, execute,
    list, load, numbered, part, row, sql, where_all,
};
use crate::typed::copied::{ColumnInteger, CopiedCount};

/// How many rows one query compares. The query locks no rows, and returns only the ones that
/// differ.
const COMPARED: usize = 50_000;

/// How many rows come before the last one that a query compares.
const BEFORE_LAST: Number = Number(COMPARED - 1);

/// A row of the parent table that differs: its key, the values of its columns, and the totals.
type Differing<Types, K> = (KeyPrefix<Types, K>, Vec<Option<i64>>);

/// Totals that don't fit their columns.
#[derive(Default)]
struct Overflows {
    /// The first one, as the error names it.
    first: Option<String>,
    rows: usize,
}

/// A range of the parent table's keys: after one key, and up to another.
struct KeyRange<Types, K> {
    after: Option<KeyPrefix<Types, K>>,
    last: Option<KeyPrefix<Types, K>>,
}

const PARENT: &str = "parent";
const TOTALS: &str = "totals";
const HELD: [&str; 8] = numbered!(identity, "held": "" "_1" "_2" "_3" "_4" "_5" "_6" "_7");
const TOTAL: [&str; 8] = numbered!(identity, "total": "" "_1" "_2" "_3" "_4" "_5" "_6" "_7");

impl Overflows {
    fn add(&mut self, overflow: String) {
        self.first.get_or_insert(overflow);
        self.rows += 1;
    }

    /// Returns the error, if there were overflows.
    fn error(self) -> Option<Error> {
        let mut text = self.first?;
        if self.rows > 1 {
            text += &format!("; {} more rows don't fit either", self.rows - 1);
        }
        Some(integer_overflow(&text))
    }
}

impl<Types: KeyTypes, K> KeyRange<Types, K> {
    /// A condition for each end: `key > ?`, `key <= ?`.
    fn conditions<'a, DB>(
        &'a self,
        db: Dialect,
        key: &[impl Part<'a, DB>],
    ) -> [Option<Sql<'a, DB>>; 2]
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let ends = [(" > ", &self.after), (" <= ", &self.last)];
        ends.map(|(compare, end)| {
            let end = row(end.as_ref()?, 0);
            Some(rows::compare(db, key, compare, &end))
        })
    }
}

impl<Types: KeyTypes, K> Materialize<'_, Types, K> {
    /// Copies the totals. Returns how many rows it wrote.
    ///
    /// Every statement that writes is its own transaction, unless a transaction is open. If another
    /// transaction has changed one of the columns since this run read the row, the row is left for
    /// the next run. A row is also left, without an error, if a trigger prevents the update, or if
    /// SQLite stores its key as another type.
    ///
    /// # Errors
    ///
    /// Returns the database's own errors, for example an [overflow](crate::is_overflow()) if a
    /// total doesn't fit an `i64`, or, on PostgreSQL, an error if a row level security policy hides
    /// rows from the caller and you haven't opened a transaction. It fails with a
    /// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) if SQLite stores a key as
    /// another type than its column's, because the run would never end. Rows that were written
    /// before the error stay written.
    ///
    /// If a total doesn't fit its `Integer` column, that row is left as it is and the others are
    /// written. At the end, the run fails with an overflow that names the row: "a count is out of
    /// the range of an INTEGER column: `articles.recent_views` of 7 would be 2147483648".
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut overflows = Overflows::default();
        let written = self.copy(&mut overflows, conn)?;
        overflows.error().map_or(Ok(written), Err)
    }

    /// Copies the totals that fit their columns, and adds the others to `overflows`.
    fn copy<Conn>(&self, overflows: &mut Overflows, conn: &mut Conn) -> QueryResult<usize>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let Materialize { table, key, .. } = self;
        let mut written = 0;
        let mut ends = Ends::default();
        loop {
            if (self.is_stopped)() {
                return Ok(written);
            }
            let mut range = KeyRange::<Types, K> {
                after: ends.last.clone().map(KeyPrefix::new),
                last: None,
            };
            // This returns no row if fewer rows are left than a range has. PostgreSQL refuses a
            // prepared query once the key's type has changed.
            let last = load(
                conn,
                |db| {
                    let rows = where_all(range.conditions(db, key));
                    sql!(
                        "{Uncached}{db.select()}{key} FROM {table}{rows} ORDER BY {key} \
                         LIMIT 1 OFFSET {BEFORE_LAST}"
                    )
                },
                |row| K::load(row),
            )?;
            let last = last.into_iter().next();
            range.last = last.clone().map(KeyPrefix::new);
            let mut rows = Vec::new();
            for row in self.differing(&range, conn)? {
                match self.overflow(&row) {
                    None => rows.push(row),
                    Some(overflow) => overflows.add(overflow),
                }
            }
            for batch in rows.chunks(self.batch) {
                if (self.is_stopped)() {
                    return Ok(written);
                }
                begin_read_committed(conn)?;
                written += execute(conn, |db| self.update(db, batch))?;
            }
            let Some(last) = last else {
                return Ok(written);
            };
            ends.push(last, table.name.0)?;
        }
    }

    /// Returns the error text for a row's first total that doesn't fit its column.
    fn overflow(&self, (key, values): &Differing<Types, K>) -> Option<String>
    where
        K: Debug,
    {
        let (_, totals) = values.split_at(self.columns.len());
        let mut totals = self.columns.iter().zip(totals.iter().flatten());
        let (column, total) = totals.find(|(column, total)| !column.holds.includes(**total))?;
        let (table, column, key) = (self.table, column.name, &key.0);
        Some(format!("`{table}.{column}` of {key:?} would be {total}"))
    }

    /// Reads the rows of a range where a column's value isn't the total.
    fn differing<Conn>(
        &self,
        range: &KeyRange<Types, K>,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Differing<Types, K>>>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let fields = Types::COLUMNS..Types::COLUMNS + 2 * self.columns.len();
        read_all_rows(conn, |conn| {
            load(
                conn,
                |db| self.compare(db, range),
                |row| {
                    let values = fields.clone().map(|i| Conn::Backend::held(row, i));
                    Ok((
                        KeyPrefix::new(K::load(row)?),
                        values.collect::<Result<_, _>>()?,
                    ))
                },
            )
        })
    }

    /// The days that a count is limited to, unless it counts all days.
    fn days_of<'a>(&'a self, count: &'a CopiedCount) -> Option<&'a DayRange> {
        let others = (!self.days.is_all()).then_some(&self.days);
        count.days.as_ref().or(others)
    }

    /// Whether the counts have different days, so that each sum needs its own condition.
    fn days_differ(&self) -> bool {
        self.counts.len() > 1 && self.counts.iter().any(|count| count.days.is_some())
    }

    /// The sum for one count, in a query that reads the rows for all of them.
    fn sum<'a, DB: CounterBackend>(&'a self, db: Dialect, count: &'a CopiedCount) -> Sql<'a, DB> {
        let counter = count.counter;
        match self.days_of(count).filter(|_| self.days_differ()) {
            Some(days) => {
                let is_in = days.condition(self.shape.day());
                let counted = part!("CASE WHEN {is_in} THEN {counter} END");
                sql!("{db.sum(counted)}")
            }
            None => sql!("{db.sum(counter)}"),
        }
    }

    /// A condition for the rows to read: from the first day of any count to the last day of any
    /// count.
    fn is_counted<'a, DB: CounterBackend>(&'a self) -> Option<Sql<'a, DB>> {
        let ranges = self.counts.iter().map(|count| self.days_of(count));
        let ranges = ranges.collect::<Option<Vec<_>>>()?;
        let first = ranges.iter().map(|range| &range.first).min()?;
        let last = ranges.iter().map(|range| &range.last).max()?;
        Some(sql!("{self.shape.day()} BETWEEN {first} AND {last}"))
    }

    fn column_names(&self) -> Vec<Name<'static>> {
        self.columns.iter().map(|column| column.name).collect()
    }

    /// The names of the columns of [`Differing`].
    fn names(&self) -> Vec<&'static str> {
        let key = self.key.len();
        let columns = self.columns.len();
        [&WANTED_KEY[..key], &HELD[..columns], &TOTAL[..columns]].concat()
    }

    // A second counter has `held_1` and `total_1`, and so on.
    //
    // If the counts have different days, `total_1` is
    // SUM(CASE WHEN day BETWEEN ? AND ? THEN views END).
    //
    // SELECT key, held, total FROM (
    //     SELECT id AS key, total_views AS held, COALESCE(total, 0) AS total FROM articles
    //     LEFT JOIN (
    //         SELECT article_id, SUM(views) AS total FROM article_counters
    //         WHERE article_id > ? AND article_id <= ? AND day BETWEEN ? AND ? GROUP BY article_id
    //     ) AS totals ON article_id = id
    //     WHERE id > ? AND id <= ?
    // ) AS parent WHERE held <> total OR held IS NULL ORDER BY key
    fn compare<'a, DB>(&'a self, db: Dialect, range: &'a KeyRange<Types, K>) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let shape = self.shape;
        let table = self.table;
        let key = &self.key;
        let names = self.names();
        let number = self.columns.len();
        let entity = &shape.entity()[..key.len()];
        let key_names = &names[..key.len()];
        let counters = shape.table;
        let held = self.columns.iter().map(|column| match (db, column.holds) {
            // Every value is loaded as an `i64`.
            (Dialect::PostgreSql, ColumnInteger::I32) => {
                sql!("CAST({PARENT}.{column.name} AS BIGINT)")
            }
            _ => sql!("{PARENT}.{column.name}"),
        });
        let columns = key.iter().map(|column| sql!("{PARENT}.{*column}"));
        let columns = aliased(columns.chain(held), &names);
        let parent_key = key.iter().map(|column| sql!("{PARENT}.{*column}"));
        let parent_key = Vec::from_iter(parent_key);
        let rows = where_all(range.conditions(db, &parent_key));
        // Text columns of the two tables can have different collations, which sort texts
        // differently. Then a range of one column isn't a range of the other.
        let parent = if Types::is_exact() {
            let [after, last] = range.conditions(db, entity);
            let counted = where_all([after, last, self.is_counted()]);
            let sums = self.counts.iter().map(|count| self.sum(db, count));
            let is_parent = key_names.iter().zip(key);
            let is_parent =
                is_parent.map(|(name, column)| sql!("{TOTALS}.{name} = {PARENT}.{*column}"));
            let is_parent = list(" AND ", is_parent);
            let entities = aliased(entity.iter().copied(), key_names);
            let totals = (0..number).map(|i| sql!("COALESCE({TOTALS}.{TOTAL[i]}, 0)"));
            sql!(
                "SELECT {columns}, {aliased(totals, &TOTAL)} FROM {table} AS {PARENT} \
                 LEFT JOIN (SELECT {entities}, {aliased(sums, &TOTAL)} FROM {counters}{counted} \
                 GROUP BY {entity}) AS {TOTALS} ON {is_parent}{rows}"
            )
        } else {
            let pairs = entity.iter().zip(key);
            let is_parent = pairs.map(|(column, name)| sql!("{TOTALS}.{column} = {PARENT}.{name}"));
            let is_parent = list(" AND ", is_parent);
            let totals = self.counts.iter().map(|count| {
                let sum = db.sum(count.counter);
                let days = self.days_of(count);
                let days = and(days.and_then(|days| days.condition(shape.day())));
                sql!("(SELECT {sum} FROM {counters} AS {TOTALS} WHERE {is_parent}{days})")
            });
            sql!("SELECT {columns}, {aliased(totals, &TOTAL)} FROM {table} AS {PARENT}{rows}")
        };
        let differs = (0..number).map(|i| sql!("{HELD[i]} <> {TOTAL[i]} OR {HELD[i]} IS NULL"));
        let differs = list(" OR ", differs);
        sql!(
            "{Uncached}{db.select()}{names} FROM ({parent}) AS compared \
             WHERE {differs} ORDER BY {key_names}"
        )
    }

    /// A condition: a row of `of`, which is the table or its alias, is in the list, and its columns
    /// still have the values that were read.
    fn is_unchanged<'a, DB>(&'a self, of: impl Part<'a, DB> + Copy) -> Sql<'a, DB>
    where
        DB: CounterBackend,
    {
        let columns = self.column_names();
        let is_held = columns.iter().zip(HELD).map(|(column, held)| {
            sql!(
                " AND ({of}.{*column} = {WANTED}.{held} \
                 OR {of}.{*column} IS NULL AND {WANTED}.{held} IS NULL)"
            )
        });
        let is_held = list("", is_held);
        sql!("{rows::is_wanted(of, &self.key)}{is_held}")
    }

    /// Writes the totals into rows whose columns haven't changed since they were read. The
    /// statement isn't cached, because its text differs for every number of rows.
    fn update<'a, DB>(&'a self, db: Dialect, rows: &'a [Differing<Types, K>]) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let table = self.table;
        let key = &self.key;
        let columns = &self.column_names();
        let on = self.is_unchanged(PARENT);
        let rows = rows.iter().map(|(key, values)| {
            let (held, totals) = values.split_at(columns.len());
            let mut values = row(key, 0);
            values.extend(held.iter().map(|held| sql!("{Bind::NullableAmount(held)}")));
            values.extend(totals.iter().flatten().map(|total| sql!("{total}")));
            values
        });
        let types = [&key[..], columns, columns].concat();
        let listed = db.list_of(rows, table, &types, &self.names(), None);
        let set = columns.iter().zip(TOTAL);
        let of_parent = (db == Dialect::MySql).then(|| sql!("{PARENT}."));
        let set = set.map(|(column, total)| sql!("{of_parent}{column} = {WANTED}.{total}"));
        let set = list(", ", set);
        let set = sql!("{Uncached}SET {set}");
        match db {
            // This names no other table, because a trigger of this one couldn't write to it.
            Dialect::MySql => {
                sql!("UPDATE {listed} STRAIGHT_JOIN {table} AS {PARENT} ON {on} {set}")
            }
            Dialect::Sqlite => sql!("UPDATE {table} AS {PARENT} {set} FROM {listed} WHERE {on}"),
            // Rows are locked in key order, so that two such statements don't deadlock.
            Dialect::PostgreSql => sql!(
                "UPDATE {table} AS {PARENT} {set} FROM (SELECT {WANTED}.* FROM {listed} \
                 JOIN {table} AS {PARENT} ON {on} \
                 ORDER BY {&WANTED_KEY[..key.len()]} FOR NO KEY UPDATE OF {PARENT}) AS {WANTED} \
                 WHERE {on}"
            ),
        }
    }
}
