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
use crate::sql::transaction::{read_all_rows, set_read_committed};
use crate::sql::{
    Bind, Binds as _, CounterBackend, Dialect, Number, Part, Sql, Uncached, aliased, and, execute,
    key_values, list, load, numbered, part, sql, where_all,
};
use crate::typed::copied::{ColumnInteger, CopiedCount};

/// How many rows one query compares. The query locks no rows, and returns only the ones that
/// differ.
const COMPARED: usize = 50_000;

/// How many rows come before the last one that a query compares.
const BEFORE_LAST: Number = Number(COMPARED - 1);

/// A row of the parent table that has a column whose value isn't the total.
struct Differing<Types, K> {
    key: KeyPrefix<Types, K>,
    /// The values of the columns.
    held: Vec<Option<i64>>,
    /// The values that they should have.
    totals: Vec<i64>,
}

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
    /// Adds a row's error text.
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
    /// A condition for each end that the range has: `key > ?`, `key <= ?`.
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
        ends.map(|(operator, end)| {
            let values = key_values(end.as_ref()?);
            Some(rows::compare(db, key, operator, &values))
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
            let last = self.last_compared_key(&range, conn)?;
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
                set_read_committed(conn)?;
                written += execute(conn, |db| self.update(db, batch))?;
            }
            let Some(last) = last else {
                return Ok(written);
            };
            let Name(table) = self.table.name;
            ends.push(last, table)?;
        }
    }

    /// Returns the last key that the next query compares. `rows_left` has the keys that aren't
    /// compared yet. Returns `None` if one query can compare all of them.
    fn last_compared_key<Conn>(
        &self,
        rows_left: &KeyRange<Types, K>,
        conn: &mut Conn,
    ) -> QueryResult<Option<K>>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let (table, key) = (self.table, &self.key);
        // `Uncached`: PostgreSQL refuses a prepared query once the key's type has changed.
        let keys = load(
            conn,
            |db| {
                let where_left = where_all(rows_left.conditions(db, key));
                sql!(
                    "{Uncached}{db.select()}{key} FROM {table}{where_left} ORDER BY {key} \
                     LIMIT 1 OFFSET {BEFORE_LAST}"
                )
            },
            |row| K::load(row),
        )?;
        Ok(keys.into_iter().next())
    }

    /// Returns the error text for a row's first total that doesn't fit its column.
    fn overflow(&self, row: &Differing<Types, K>) -> Option<String>
    where
        K: Debug,
    {
        let mut totals = self.columns.iter().zip(&row.totals);
        let (column, total) = totals.find(|(column, total)| !column.holds.includes(**total))?;
        let (table, name, key) = (self.table, column.name, &row.key.0);
        Some(format!("`{table}.{name}` of {key:?} would be {total}"))
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
        // A row's fields are the key, the values of the columns, and the totals.
        let first_held = Types::COLUMNS;
        let first_total = first_held + self.columns.len();
        let end = first_total + self.columns.len();
        read_all_rows(conn, |conn| {
            load(
                conn,
                |db| self.compare(db, range),
                |row| {
                    let key = KeyPrefix::new(K::load(row)?);
                    let held = first_held..first_total;
                    let held = held.map(|field| Conn::Backend::nullable_amount(row, field));
                    let totals = first_total..end;
                    let totals = totals.map(|field| Conn::Backend::amount(row, field));
                    Ok(Differing {
                        key,
                        held: held.collect::<Result<_, _>>()?,
                        totals: totals.collect::<Result<_, _>>()?,
                    })
                },
            )
        })
    }

    /// Returns the days that a count is limited to, or `None` if it counts all days.
    fn days_of<'a>(&'a self, count: &'a CopiedCount) -> Option<&'a DayRange> {
        let own_days = count.days.as_ref();
        let common_days = (!self.days.is_all()).then_some(&self.days);
        own_days.or(common_days)
    }

    /// Whether the counts have different days, so that each sum needs its own condition.
    fn days_differ(&self) -> bool {
        self.counts.len() > 1 && self.counts.iter().any(|count| count.days.is_some())
    }

    /// The sum for one count, in a query that reads the rows for all of them. If they have
    /// different days, it's the sum of `CASE WHEN day BETWEEN ? AND ? THEN views END`.
    fn sum<'a, DB: CounterBackend>(&'a self, db: Dialect, count: &'a CopiedCount) -> Sql<'a, DB> {
        let counter = count.counter;
        match self.days_of(count) {
            Some(days) if self.days_differ() => {
                let is_in = days.condition(self.shape.day());
                let counted = part!("CASE WHEN {is_in} THEN {counter} END");
                sql!("{db.sum(counted)}")
            }
            _ => sql!("{db.sum(counter)}"),
        }
    }

    /// `day BETWEEN ? AND ?`, with the first and the last of all counts' days. There's no condition
    /// if one of the counts has all days.
    fn days_to_read<'a, DB: CounterBackend>(&'a self) -> Option<Sql<'a, DB>> {
        let mut ranges = Vec::new();
        for count in &self.counts {
            ranges.push(self.days_of(count)?);
        }
        let first = ranges.iter().map(|range| &range.first).min()?;
        let last = ranges.iter().map(|range| &range.last).max()?;
        Some(sql!("{self.shape.day()} BETWEEN {first} AND {last}"))
    }

    fn column_names(&self) -> Vec<Name<'static>> {
        self.columns.iter().map(|column| column.name).collect()
    }

    /// The names of the fields of a [`Differing`] row: `entity, held, total`.
    fn names(&self) -> Vec<&'static str> {
        let key = self.key.len();
        let columns = self.columns.len();
        [&WANTED_KEY[..key], &HELD[..columns], &TOTAL[..columns]].concat()
    }

    /// Selects the rows of a range where a column's value isn't the total.
    //
    // SELECT entity, held, total FROM (
    //     SELECT id AS entity, total_views AS held, … AS total FROM articles …
    // ) AS compared WHERE held <> total OR held IS NULL ORDER BY entity
    //
    // A second counter has `held_1` and `total_1`, and so on.
    fn compare<'a, DB>(&'a self, db: Dialect, range: &'a KeyRange<Types, K>) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        // Text columns of the two tables can have different collations, which sort texts
        // differently. Then a range of one column isn't a range of the other.
        let compared = if Types::is_exact() {
            self.join_totals(db, range)
        } else {
            self.select_totals(db, range)
        };
        let names = self.names();
        let key_names = &names[..self.key.len()];
        let pairs = HELD.iter().zip(&TOTAL).take(self.columns.len());
        let differ = pairs.map(|(held, total)| sql!("{*held} <> {*total} OR {*held} IS NULL"));
        let differ = list(" OR ", differ);
        sql!(
            "{Uncached}{db.select()}{names} FROM ({compared}) AS compared \
             WHERE {differ} ORDER BY {key_names}"
        )
    }

    /// Selects the rows of a range with their totals, from a join.
    //
    // SELECT id AS entity, total_views AS held, COALESCE(total, 0) AS total FROM articles
    // LEFT JOIN (
    //     SELECT article_id AS entity, SUM(views) AS total FROM article_counters
    //     WHERE article_id > ? AND article_id <= ? AND day BETWEEN ? AND ? GROUP BY article_id
    // ) AS totals ON totals.entity = id
    // WHERE id > ? AND id <= ?
    fn join_totals<'a, DB>(&'a self, db: Dialect, range: &'a KeyRange<Types, K>) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let (table, counter_table) = (self.table, self.shape.table);
        let key_names = &WANTED_KEY[..self.key.len()];
        let entity = &self.shape.entity()[..self.key.len()];
        let columns = self.parent_columns(db);
        let totals = TOTAL.iter().take(self.columns.len());
        let totals = totals.map(|total| sql!("COALESCE({TOTALS}.{*total}, 0)"));
        let totals = aliased(totals, &TOTAL);

        let entities = aliased(entity.iter().copied(), key_names);
        let sums = self.counts.iter().map(|count| self.sum(db, count));
        let sums = aliased(sums, &TOTAL);
        let [is_after, is_up_to_last] = range.conditions(db, entity);
        let where_counted = where_all([is_after, is_up_to_last, self.days_to_read()]);

        let pairs = key_names.iter().zip(&self.key);
        let is_parent = pairs.map(|(name, column)| sql!("{TOTALS}.{*name} = {PARENT}.{*column}"));
        let is_parent = list(" AND ", is_parent);
        let where_in_range = where_all(range.conditions(db, &self.parent_key()));
        sql!(
            "SELECT {columns}, {totals} FROM {table} AS {PARENT} \
             LEFT JOIN (SELECT {entities}, {sums} FROM {counter_table}{where_counted} \
             GROUP BY {entity}) AS {TOTALS} ON {is_parent}{where_in_range}"
        )
    }

    /// Selects the rows of a range with their totals, each from a subquery.
    //
    // SELECT id AS entity, total_views AS held,
    //     (SELECT SUM(views) FROM article_counters WHERE article_id = id) AS total
    // FROM articles WHERE id > ? AND id <= ?
    fn select_totals<'a, DB>(&'a self, db: Dialect, range: &'a KeyRange<Types, K>) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let (table, counter_table) = (self.table, self.shape.table);
        let columns = self.parent_columns(db);
        let pairs = self.shape.entity().iter().zip(&self.key);
        let is_parent = pairs.map(|(column, name)| sql!("{TOTALS}.{*column} = {PARENT}.{*name}"));
        let is_parent = list(" AND ", is_parent);
        let totals = self.counts.iter().map(|count| {
            let sum = db.sum(count.counter);
            let days = self.days_of(count);
            let is_counted = days.and_then(|days| days.condition(self.shape.day()));
            let and_is_counted = and(is_counted);
            sql!(
                "(SELECT {sum} FROM {counter_table} AS {TOTALS} \
                 WHERE {is_parent}{and_is_counted})"
            )
        });
        let totals = aliased(totals, &TOTAL);
        let where_in_range = where_all(range.conditions(db, &self.parent_key()));
        sql!("SELECT {columns}, {totals} FROM {table} AS {PARENT}{where_in_range}")
    }

    /// `parent.id`, for each column of the parent table's key.
    fn parent_key<'a, DB: CounterBackend>(&'a self) -> Vec<Sql<'a, DB>> {
        let key = self.key.iter();
        key.map(|column| sql!("{PARENT}.{*column}")).collect()
    }

    /// `parent.id AS entity, parent.total_views AS held`
    fn parent_columns<'a, DB: CounterBackend>(&'a self, db: Dialect) -> Sql<'a, DB> {
        let mut columns = self.parent_key();
        for column in self.columns {
            let name = column.name;
            columns.push(match (db, column.holds) {
                // Every value is loaded as an `i64`.
                (Dialect::PostgreSql, ColumnInteger::I32) => {
                    sql!("CAST({PARENT}.{name} AS BIGINT)")
                }
                _ => sql!("{PARENT}.{name}"),
            });
        }
        aliased(columns, &self.names())
    }

    /// A condition: a row of the parent table is in the list, and its columns still have the values
    /// that were read.
    fn is_unchanged<'a, DB: CounterBackend>(&'a self) -> Sql<'a, DB> {
        let columns = self.column_names();
        let is_held = columns.iter().zip(HELD).map(|(column, held)| {
            sql!(
                " AND ({PARENT}.{*column} = {WANTED}.{held} \
                 OR {PARENT}.{*column} IS NULL AND {WANTED}.{held} IS NULL)"
            )
        });
        let and_is_held = list("", is_held);
        sql!("{rows::is_wanted(PARENT, &self.key)}{and_is_held}")
    }

    /// Writes the totals into rows whose columns haven't changed since they were read. The
    /// statement isn't cached, because its text differs for every number of rows.
    fn update<'a, DB>(&'a self, db: Dialect, rows: &'a [Differing<Types, K>]) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let table = self.table;
        let columns = &self.column_names();
        let rows = rows.iter().map(|row| {
            let mut values = key_values(&row.key);
            let held = row.held.iter().map(Bind::NullableAmount);
            values.extend(held.map(|held| sql!("{held}")));
            values.extend(row.totals.iter().map(|total| sql!("{total}")));
            values
        });
        let types = [&self.key[..], columns, columns].concat();
        let no_numbers = None;
        let listed = db.list_of(rows, table, &types, &self.names(), no_numbers);
        let on = self.is_unchanged();
        // On MySQL, this is a join, so the name of a column could also be one of the list's names.
        // The other databases don't allow a table's name here.
        let qualifier = (db == Dialect::MySql).then(|| sql!("{PARENT}."));
        let assignments = columns.iter().zip(TOTAL);
        let assignments =
            assignments.map(|(column, total)| sql!("{qualifier}{*column} = {WANTED}.{total}"));
        let assignments = list(", ", assignments);
        let set = sql!("{Uncached}SET {assignments}");
        match db {
            // This names no other table, because a trigger of this one couldn't write to it.
            Dialect::MySql => {
                sql!("UPDATE {listed} STRAIGHT_JOIN {table} AS {PARENT} ON {on} {set}")
            }
            Dialect::Sqlite => sql!("UPDATE {table} AS {PARENT} {set} FROM {listed} WHERE {on}"),
            // Rows are locked in key order, so that two such statements don't deadlock.
            Dialect::PostgreSql => {
                let key_names = &WANTED_KEY[..self.key.len()];
                sql!(
                    "UPDATE {table} AS {PARENT} {set} FROM (SELECT {WANTED}.* FROM {listed} \
                     JOIN {table} AS {PARENT} ON {on} \
                     ORDER BY {key_names} FOR NO KEY UPDATE OF {PARENT}) AS {WANTED} WHERE {on}"
                )
            }
        }
    }
}
