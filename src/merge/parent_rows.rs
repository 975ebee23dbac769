//! The run of a copy of totals: it compares the rows of the parent table, and writes those that
//! differ.

use std::convert::identity;

use diesel::QueryResult;
use diesel::connection::LoadConnection;

use crate::merge::Ends;
use crate::merge::materialize::Materialize;
use crate::sql::rows::{self, WANTED, WANTED_KEY};
use crate::sql::transaction::{begin_read_committed, read_all_rows};
use crate::sql::{
    Bind, Binds as _, CounterBackend, Dialect, KeyPrefix, Number, Part, Sql, Uncached, and,
    execute, list, load, named, numbered, row, sql, where_all,
};
use crate::typed::key::{BindKey, KeyTypes, OwnedKey};

/// The number of rows that one query compares. The query locks no rows, and returns only those that
/// differ.
const COMPARED: usize = 50_000;

/// The number of rows before the last one that a query compares.
const BEFORE_LAST: Number = Number(COMPARED - 1);

/// A row of the parent table that differs: its key, the values of its columns, and the totals.
type Differing<Types, K> = (KeyPrefix<Types, K>, Vec<Option<i64>>);

/// A range of keys of the parent table: after a key, and to the last one.
struct KeyRange<Types, K> {
    after: Option<KeyPrefix<Types, K>>,
    last: Option<KeyPrefix<Types, K>>,
}

const PARENT: &str = "parent";
const TOTALS: &str = "totals";
const HELD: [&str; 8] = numbered!(identity, "held": "" "_1" "_2" "_3" "_4" "_5" "_6" "_7");
const TOTAL: [&str; 8] = numbered!(identity, "total": "" "_1" "_2" "_3" "_4" "_5" "_6" "_7");

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
    /// Copies the totals. Returns the number of rows that were written.
    ///
    /// Each statement that writes is a transaction of its own, unless a transaction is open. A row
    /// is left for the next run if another transaction has changed one of these columns since
    /// it was read. A row is also left, without an error, if a trigger prevents the update, or
    /// if SQLite stores its key as another type.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors: an [overflow](crate::is_overflow()), for example, if a
    /// total is out of the range of an `i64`, or, on PostgreSQL, an error if a policy of row level
    /// security hides rows from the caller and you have not opened a transaction. It fails with a
    /// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) if SQLite stores a key as
    /// another type than its column's, so that it would not end. Rows that were written before
    /// the error stay written.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let Materialize { table, key, .. } = &self;
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
            // It returns no row if the rest of the table is shorter than a range. PostgreSQL
            // refuses a prepared query once the key has got another type.
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
            let rows = self.differing(&range, conn)?;
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

    /// Reads the rows of a range that have a column whose value is not the total.
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

    /// The names of the columns of [`Differing`].
    fn names(&self) -> Vec<&'static str> {
        let key = self.key.len();
        let columns = self.columns.len();
        [&WANTED_KEY[..key], &HELD[..columns], &TOTAL[..columns]].concat()
    }

    // Of a second counter, there are `held_1` and `total_1`, and so on.
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
        let sums = self.counters.iter().map(|counter| db.sum(*counter));
        let counters = shape.table;
        let days = self.days.unless_all(shape.day());
        let columns = [key, self.columns].concat();
        let columns = columns.iter().map(|column| sql!("{PARENT}.{*column}"));
        let columns = named(columns, &names);
        let parent_key = key.iter().map(|column| sql!("{PARENT}.{*column}"));
        let parent_key = Vec::from_iter(parent_key);
        let rows = where_all(range.conditions(db, &parent_key));
        // The two columns of texts can have different collations, which order texts differently.
        // Then a range of one column is not a range of the other.
        let parent = if Types::is_exact() {
            let [after, last] = range.conditions(db, entity);
            let counted = where_all([after, last, days]);
            let is_parent = key_names.iter().zip(key);
            let is_parent =
                is_parent.map(|(name, column)| sql!("{TOTALS}.{name} = {PARENT}.{*column}"));
            let is_parent = list(" AND ", is_parent);
            let entities = named(entity.iter().copied(), key_names);
            let totals = (0..number).map(|i| sql!("COALESCE({TOTALS}.{TOTAL[i]}, 0)"));
            sql!(
                "SELECT {columns}, {named(totals, &TOTAL)} FROM {table} AS {PARENT} \
                 LEFT JOIN (SELECT {entities}, {named(sums, &TOTAL)} FROM {counters}{counted} \
                 GROUP BY {entity}) AS {TOTALS} ON {is_parent}{rows}"
            )
        } else {
            let pairs = entity.iter().zip(key);
            let is_parent = pairs.map(|(column, name)| sql!("{TOTALS}.{column} = {PARENT}.{name}"));
            let is_parent = list(" AND ", is_parent);
            let days = and(days);
            let totals = sums.map(|sum| {
                sql!("(SELECT {sum} FROM {counters} AS {TOTALS} WHERE {is_parent}{days})")
            });
            sql!("SELECT {columns}, {named(totals, &TOTAL)} FROM {table} AS {PARENT}{rows}")
        };
        let differs = (0..number).map(|i| sql!("{HELD[i]} <> {TOTAL[i]} OR {HELD[i]} IS NULL"));
        let differs = list(" OR ", differs);
        sql!(
            "{Uncached}{db.select()}{names} FROM ({parent}) AS compared \
             WHERE {differs} ORDER BY {key_names}"
        )
    }

    /// A condition: a row of the table, or of its alias `of`, is one of the list, and its columns are
    /// still what was read.
    fn is_current<'a, DB>(&'a self, of: impl Part<'a, DB> + Copy) -> Sql<'a, DB>
    where
        DB: CounterBackend,
    {
        let is_held = self.columns.iter().zip(HELD).map(|(column, held)| {
            sql!(
                " AND ({of}.{*column} = {WANTED}.{held} \
                 OR {of}.{*column} IS NULL AND {WANTED}.{held} IS NULL)"
            )
        });
        let is_held = list("", is_held);
        sql!("{rows::is_wanted(of, &self.key)}{is_held}")
    }

    /// Writes totals into the rows whose columns have not changed since they were read. Each number
    /// of rows has a text of its own, so it is not cached.
    fn update<'a, DB>(&'a self, db: Dialect, rows: &'a [Differing<Types, K>]) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let table = self.table;
        let key = &self.key;
        let columns = self.columns;
        let on = self.is_current(PARENT);
        let rows = rows.iter().map(|(key, values)| {
            let (held, totals) = values.split_at(columns.len());
            let mut values = row(key, 0);
            values.extend(held.iter().map(|held| sql!("{Bind::Column(held)}")));
            values.extend(totals.iter().flatten().map(|total| sql!("{total}")));
            values
        });
        let types = [key, columns, columns].concat();
        let listed = db.list_of(rows, table, &types, &self.names(), None);
        let set = columns.iter().zip(TOTAL);
        let of_parent = (db == Dialect::MySql).then(|| sql!("{PARENT}."));
        let set = set.map(|(column, total)| sql!("{of_parent}{column} = {WANTED}.{total}"));
        let set = list(", ", set);
        let set = sql!("{Uncached}SET {set}");
        match db {
            // A trigger of the table could not write to another table that the statement names.
            Dialect::MySql => {
                sql!("UPDATE {listed} STRAIGHT_JOIN {table} AS {PARENT} ON {on} {set}")
            }
            Dialect::Sqlite => sql!("UPDATE {table} AS {PARENT} {set} FROM {listed} WHERE {on}"),
            // Rows are locked in the order of the list, so that two such statements do not
            // deadlock.
            Dialect::PostgreSql => sql!(
                "UPDATE {table} AS {PARENT} {set} FROM (SELECT {WANTED}.* FROM {listed} \
                 JOIN {table} AS {PARENT} ON {on} \
                 ORDER BY {&WANTED_KEY[..key.len()]} FOR NO KEY UPDATE OF {PARENT}) AS {WANTED} \
                 WHERE {on}"
            ),
        }
    }
}
