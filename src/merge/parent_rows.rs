//! The run of a copy of totals: it compares the rows of the parent table, and writes those that differ.

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::result::Error;

use crate::merge::materialize::{Materialize, Materialized, TotalColumn};
use crate::shape::Name;
use crate::sql::rows::{self, WANTED, WANTED_KEY};
use crate::sql::transaction::{begin_read_committed, is_in_a_transaction, read_all_rows};
use crate::sql::{
    Bind, Binds as _, CounterBackend, Dialect, One, Sql, Uncached, and, execute, list, load,
    load_number, row, sql, where_all,
};
use crate::typed::key::{BindKey, KeyTypes, OwnedKey};

/// The number of rows that one query compares. The query locks no rows, and returns only those that
/// differ.
const COMPARED: i64 = 50_000;

/// The number of rows before the last one that a query compares.
const BEFORE_LAST: &i64 = &(COMPARED - 1);

/// A row of the parent table whose column is not the total.
struct Differing<Types, K> {
    key: One<Types, K>,
    /// The value of the column.
    held: Option<i64>,
    total: i64,
}

/// A range of keys of the parent table: after a key, and to the last one.
struct KeyRange<Types, K> {
    after: Option<One<Types, K>>,
    last: Option<One<Types, K>>,
}

const PARENT: &str = "diesel_counters_parent";
const TOTALS: &str = "diesel_counters_totals";
const HELD: &str = "diesel_counters_held";
const TOTAL: &str = "diesel_counters_total";

impl<Types: KeyTypes, K> KeyRange<Types, K> {
    /// A condition for each end: `key > ?`, `key <= ?`.
    fn conditions<'a, DB>(&'a self, db: Dialect, key: &[Name<'a>]) -> [Option<Sql<'a, DB>>; 2]
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let ends = [(" > ", &self.after), (" <= ", &self.last)];
        ends.map(|(compare, end)| {
            let end = row(end.as_ref()?, 0);
            Some(rows::compare(db, key, key.len(), compare, &end))
        })
    }
}

impl<Types: KeyTypes, K> Materialize<'_, Types, K> {
    /// Compares the rows as [`execute`](Materialize::execute) does, and writes nothing. Returns the
    /// number of rows that differ, in [`different`](Materialized::different).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Materialize::execute).
    pub fn dry_run<Conn>(mut self, conn: &mut Conn) -> QueryResult<Materialized>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        self.copy(false, conn)
    }

    /// Copies the totals. Returns the number of rows that were written.
    ///
    /// Each statement that writes is a transaction of its own, unless a transaction is open. On
    /// MySQL and MariaDB, this transaction is READ COMMITTED. A row whose column another
    /// transaction has changed since it was read is not written. The next run writes it.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors: an [overflow](crate::is_overflow()), for example, if a
    /// total is out of the range of an `i64`, or, on PostgreSQL, an error if a policy of row level
    /// security hides rows from the caller. It fails with a
    /// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) if a row keeps its old value:
    /// because a trigger of the table prevents the update, or because SQLite stores the key as another
    /// type than its column's. Rows that were written before the error stay written.
    pub fn execute<Conn>(mut self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        Ok(self.copy(true, conn)?.written as usize)
    }

    /// Compares all rows, one range of keys after another, and writes the rows that differ.
    pub(crate) fn copy<Conn>(&mut self, writes: bool, conn: &mut Conn) -> QueryResult<Materialized>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut so_far = Materialized::default();
        let mut ends: Vec<K> = Vec::new();
        loop {
            if (self.is_stopped)() {
                return Ok(so_far);
            }
            let mut range = KeyRange::<Types, K> {
                after: ends.last().cloned().map(One::new),
                last: None,
            };
            let TotalColumn { table, key, .. } = &self.into;
            // It returns no row if the rest of the table is shorter than a range. PostgreSQL refuses a
            // prepared query once the key has got another type.
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
            if let Some(again) = last.as_ref().filter(|last| ends.contains(last)) {
                return Err(not_updated(again));
            }
            range.last = last.clone().map(One::new);
            let rows = self.differing(&range, false, conn)?;
            so_far.different += rows.len() as u64;
            let mut written = 0;
            for batch in rows.chunks(self.batch).filter(|_| writes) {
                if (self.is_stopped)() {
                    return Ok(so_far);
                }
                begin_read_committed(conn)?;
                let of_batch = execute(conn, |db| self.update(db, batch))?;
                written += of_batch;
                so_far.written += of_batch as u64;
                (self.on_progress)(so_far);
            }
            if writes && written < rows.len() {
                // A row that was not written and holds what it held is not found by its key.
                let may_be_stale = is_in_a_transaction(conn)?;
                let is_same = |row: &&Differing<Types, K>| {
                    let mut rows = rows.iter();
                    rows.any(|other| other.key.0 == row.key.0 && other.held == row.held)
                };
                let after = self.differing(&range, may_be_stale, conn)?;
                if let Some(row) = after.iter().find(is_same) {
                    return Err(not_updated(&row.key.0));
                }
            }
            let Some(last) = last else {
                let TotalColumn { table, key, .. } = &self.into;
                let rest = load_number(conn, |db| {
                    let rows = where_all(range.conditions(db, key));
                    sql!("{db.select()}COUNT(*) FROM {table}{rows}")
                })?;
                so_far.compared += rest.unsigned_abs();
                return Ok(so_far);
            };
            so_far.compared += COMPARED as u64;
            (self.on_progress)(so_far);
            ends.push(last);
        }
    }

    /// Reads the rows of a range whose column is not the total; none if they `may_be_stale`: from before
    /// something was written.
    fn differing<Conn>(
        &self,
        range: &KeyRange<Types, K>,
        may_be_stale: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Differing<Types, K>>>
    where
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        read_all_rows(conn, |conn| {
            load(
                conn,
                |db| self.compare(db, range, may_be_stale),
                |row| {
                    Ok(Differing {
                        key: One::new(K::load(row)?),
                        held: Conn::Backend::held(row, Types::COLUMNS)?,
                        total: Conn::Backend::amount(row, Types::COLUMNS + 1)?,
                    })
                },
            )
        })
    }

    // SELECT key, held, total FROM (
    //     SELECT id AS key, total_views AS held, COALESCE(total, 0) AS total FROM articles
    //     LEFT JOIN (
    //         SELECT article_id, SUM(views) AS total FROM article_counters
    //         WHERE article_id > ? AND article_id <= ? AND day BETWEEN ? AND ? GROUP BY article_id
    //     ) AS totals ON article_id = id
    //     WHERE id > ? AND id <= ?
    // ) AS parent WHERE held <> total OR held IS NULL ORDER BY key
    fn compare<'a, DB>(
        &'a self,
        db: Dialect,
        range: &'a KeyRange<Types, K>,
        may_be_stale: bool,
    ) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let TotalColumn { table, key, column } = &self.into;
        let shape = self.shape;
        let entity = &shape.entity()[..key.len()];
        let names = &WANTED_KEY[..key.len()];
        let (sum, counters) = (db.sum(self.counter), shape.table);
        let days = self.days.condition_unless_all(shape.day());
        let named = |columns: &[Name<'a>]| {
            let columns = columns.iter().zip(names);
            let named = columns.map(|(column, name)| sql!("{column} AS {name}, "));
            list("", named)
        };
        let held = sql!("{named(key)}{column} AS {HELD}");
        let rows = where_all(range.conditions(db, key));
        // The two columns of texts can have different collations, which order texts differently.
        // Then a range of one column is not a range of the other.
        let parent = if Types::is_exact() {
            let [after, last] = range.conditions(db, entity);
            let counted = where_all([after, last, days]);
            let is_parent = names.iter().zip(key);
            let is_parent = is_parent.map(|(name, column)| sql!("{TOTALS}.{name} = {column}"));
            let is_parent = list(" AND ", is_parent);
            sql!(
                "SELECT {held}, COALESCE({TOTALS}.{TOTAL}, 0) AS {TOTAL} FROM {table} \
                 LEFT JOIN (SELECT {named(entity)}{sum} AS {TOTAL} FROM {counters}{counted} \
                 GROUP BY {entity}) AS {TOTALS} ON {is_parent}{rows}"
            )
        } else {
            let pairs = entity.iter().zip(key);
            let is_parent = pairs.map(|(column, name)| sql!("{TOTALS}.{column} = {table}.{name}"));
            let is_parent = list(" AND ", is_parent);
            sql!(
                "SELECT {held}, (SELECT {sum} FROM {counters} AS {TOTALS} WHERE {is_parent}{and(days)}) \
                 AS {TOTAL} FROM {table}{rows}"
            )
        };
        // There, a query in a transaction can read the snapshot of the first query.
        let is_stale = may_be_stale && db == Dialect::MySql;
        let end = if is_stale { " LIMIT 0" } else { "" };
        sql!(
            "{Uncached}{db.select()}{names}, {HELD}, {TOTAL} FROM ({parent}) AS {PARENT} \
             WHERE {HELD} <> {TOTAL} OR {HELD} IS NULL ORDER BY {names}{end}"
        )
    }

    /// Writes totals into the rows whose column has not changed since it was read. Each number of rows
    /// has a text of its own, so it is not cached.
    fn update<'a, DB>(&'a self, db: Dialect, rows: &'a [Differing<Types, K>]) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let TotalColumn { table, key, column } = &self.into;
        let columns = [key, &[*column, *column][..]].concat();
        let names = &WANTED_KEY[..key.len()];
        let is_held = sql!("({column} = {HELD} OR {HELD} IS NULL AND {column} IS NULL)");
        let on = sql!("{rows::is_wanted(key)} AND {is_held}");
        let rows = rows.iter().map(|differing| {
            let mut values = row(&differing.key, 0);
            values.push(sql!("{Bind::Column(&differing.held)}"));
            values.push(sql!("{&differing.total}"));
            values
        });
        let listed = db.list_of(
            rows,
            *table,
            &columns,
            &[names, &[HELD, TOTAL]].concat(),
            None,
        );
        let (update, set) = (db.verb("UPDATE"), sql!("{Uncached}SET {column} = {TOTAL}"));
        match db {
            // A trigger of the table could not write to another table that the statement names.
            Dialect::MySql => sql!("{update} {listed} STRAIGHT_JOIN {table} ON {on} {set}"),
            Dialect::Sqlite => sql!("{update} {table} {set} FROM {listed} WHERE {on}"),
            // Rows are locked in the order of the list, so that two such statements do not deadlock.
            Dialect::PostgreSql => sql!(
                "{update} {table} {set} FROM (SELECT {WANTED}.* FROM {listed} \
                 JOIN {table} AS {PARENT} ON {on} ORDER BY {names} \
                 FOR NO KEY UPDATE OF {PARENT}) AS diesel_counters_locked WHERE {on}"
            ),
        }
    }
}

fn not_updated(key: &impl std::fmt::Debug) -> Error {
    Error::QueryBuilderError(
        format!(
            "the row with the key {key:?} was not updated: a trigger of the table prevents it, or \
             SQLite stores the key as another type than its column's"
        )
        .into(),
    )
}
