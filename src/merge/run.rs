//! Running a merge, with a transaction for each batch.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::deserialize;
use diesel::result::Error;
use diesel::row::{Field, Row};

use crate::day::Period;
use crate::error::{not_written, refuse};
use crate::key::{KeyTypes, LoadKey, OwnedKey, OwnedKeys};
use crate::merge::Ends;
use crate::merge::compact::{Compact, Compacted};
use crate::merge::range::RowKey;
use crate::shape::Shape;
use crate::sql::transaction::{is_in_a_real_transaction, transaction_on_all_rows};
use crate::sql::{
    Binds, CounterBackend, Dialect, Number, Sql, Uncached, Values, and, execute, list, load,
    load_number, row, rows, sql, write,
};

impl<Types, K> Compact<'_, Types, K> {
    /// Returns how many rows there are to merge, in [`left`](Compacted::left), and merges none.
    ///
    /// # Errors
    ///
    /// Returns the database's own errors.
    pub fn dry_run<Conn>(&self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        Ok(Compacted {
            left: self.count(conn)?,
            ..Compacted::default()
        })
    }

    /// Merges the rows. Returns how many it merged, and how many are left.
    ///
    /// # Errors
    ///
    /// Fails like [`compact`](crate::dsl::compact()).
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        self.execute_loading(&OwnedKeys::<Types, K>::new(), conn)
    }

    /// Like [`execute`](Compact::execute), for keys whose types are only known at run time. `keys`
    /// loads them.
    #[doc(hidden)]
    pub fn execute_loading<Keys, Conn>(
        mut self,
        keys: &Keys,
        conn: &mut Conn,
    ) -> QueryResult<Compacted>
    where
        Keys: LoadKey<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        if is_in_a_real_transaction(conn)? {
            return Err(Error::AlreadyInTransaction);
        }
        if self.shape.counters.is_empty() {
            let table = self.shape.label;
            return refuse(format!("`{table}` has no counter to merge"));
        }
        if !self.lock(true, conn)? {
            return Ok(Compacted {
                already_running: true,
                ..Compacted::default()
            });
        }
        // The lock belongs to the session, which a pool keeps open, so this releases it after a
        // panic too.
        let merged = catch_unwind(AssertUnwindSafe(|| self.merge(keys, conn)));
        let unlocked = self.lock(false, conn);
        let merged = merged.unwrap_or_else(|panic| resume_unwind(panic))?;
        if !unlocked? {
            return refuse(
                "the advisory lock of this merge belongs to another session: a connection pooler \
                 gives each transaction another session; merge over a direct connection",
            );
        }
        Ok(merged)
    }

    /// Takes the table's advisory lock, or releases it. Returns whether it did. Two merges at the
    /// same time would be exact too, because each merges only rows that it has locked, but they
    /// would wait for each other.
    fn lock<Conn>(&self, takes: bool, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let table = self.shape.table;
        let quoted = table.quoted();
        let lock = |db: Dialect| db.merge_lock(takes, table, &quoted);
        let locked = load(conn, lock, |row| Conn::Backend::is_true(row, 0))?;
        Ok(locked == [true])
    }

    fn count(&self, conn: &mut impl LoadConnection<Backend: CounterBackend>) -> QueryResult<u64> {
        let table = self.shape.table;
        let range = self.range();
        let rows = load_number(conn, |db| {
            let rows = range.condition(db, self.shape);
            sql!("{db.select()}COUNT(*) FROM {table} WHERE {rows}")
        })?;
        Ok(rows.unsigned_abs())
    }

    fn merge<Keys, Conn>(&mut self, keys: &Keys, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Keys: LoadKey<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = self.shape;
        let range = self.range();
        // A list has the rows to merge, and up to as many rows that they're added to.
        let most = rows::max_listed_rows::<Conn::Backend>(shape.key.len()) / 2;
        let limit = self.batch.min(most);
        let table = shape.table;
        let key = &shape.key;
        let mut so_far = Compacted::default();
        if (self.is_stopped)() {
            return Ok(so_far);
        }
        so_far.left = self.count(conn)?;
        let mut ends = Ends::<RowKey<Keys::Key>>::default();
        // If there's nothing to merge, a run reads the table once, or only an index of it. On
        // SQLite, it also searches the whole table for values that aren't days. Once a run has
        // begun, it goes on until no row is left, whatever the count was.
        while so_far.left > 0 || ends.last.is_some() {
            let after = ends.last.clone();
            // The query locks no rows.
            // - `by_key`: by another index, every batch would sort all rows that are left.
            // - `Uncached`: once a column of the result has got another type, PostgreSQL refuses a
            //   prepared query for as long as the connection lives.
            // - `Number`: in a session of one shard, Vitess can't prepare a LIMIT that is a bind
            //   value.
            let rows = load(
                conn,
                |db| {
                    let after = values(after.as_slice()).pop();
                    let after = after.map(|after| rows::compare(db, key, " > ", &after));
                    let rows = range.condition(db, shape);
                    let after = and(after);
                    sql!(
                        "{Uncached}{db.select()}{key} FROM {table}{db.by_key()} WHERE {rows}{after} \
                         ORDER BY {key} LIMIT {Number(limit)}"
                    )
                },
                |row| row_key(row, keys, shape),
            )?;
            let Some(last) = rows.last() else {
                so_far.left = self.count(conn)?;
                break;
            };
            ends.push(last.clone(), shape.label)?;
            let began = Instant::now();
            let merged = transaction_on_all_rows(conn, |conn| self.merge_rows(rows, keys, conn))?;
            so_far.merged += merged;
            so_far.left = so_far.left.saturating_sub(merged);
            so_far.longest_transaction = so_far.longest_transaction.max(began.elapsed());
            (self.on_progress)(&so_far);
            if (self.is_stopped)() {
                return Ok(so_far);
            }
        }
        self.refuse_other_days(&so_far, conn)?;
        Ok(so_far)
    }

    /// Fails if an SQLite table has rows whose day isn't a date. They aren't merged.
    fn refuse_other_days<Conn>(&self, so_far: &Compacted, conn: &mut Conn) -> QueryResult<()>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        if !Dialect::Sqlite.could_be::<Conn::Backend>() {
            return Ok(());
        }
        let table = self.shape.table;
        let day = self.shape.day();
        let rows = load_number(conn, |db| {
            // On the other databases, every day is a date.
            let is_day = db.is_day(day).unwrap_or_else(|| sql!("1 = 1"));
            sql!("{db.select()}COUNT(*) FROM {table} WHERE NOT ({is_day})")
        })?;
        if rows == 0 {
            return Ok(());
        }
        let table = self.shape.label;
        refuse(format!(
            "{rows} rows of `{table}` were skipped, because their day is not stored as YYYY-MM-DD: \
             find them with SELECT * FROM {table} WHERE {day} IS NOT date({day}); the other rows: \
             {so_far}"
        ))
    }

    /// Merges the rows with these keys, except those that another transaction has locked. Returns
    /// how many it merged. `listed_rows` makes the statements uncached, because their texts differ
    /// for every number of rows.
    fn merge_rows<Keys, Conn>(
        &self,
        rows: Vec<RowKey<Keys::Key>>,
        keys: &Keys,
        conn: &mut Conn,
    ) -> QueryResult<u64>
    where
        Keys: LoadKey<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = self.shape;
        let range = self.range();
        let table = shape.table;
        let key = &shape.key;
        let counters = &shape.counters;
        let mut wanted = range.targets_of(&rows);

        // The first statement of the transaction inserts the rows that others are added to, with
        // zeros, if they don't exist. It's the only one that waits for locks: while other
        // transactions wait for rows that the later statements lock, the merge itself waits for
        // nobody. On SQLite, a transaction that reads before it writes fails if another one has
        // written in between, so this one writes first and waits for the write lock.
        execute(conn, |db| {
            let insert = db.insert_into(table, key, counters);
            let mut targets = values(&wanted);
            for target in &mut targets {
                target.extend(counters.iter().map(|_| sql!("0")));
            }
            let targets = rows::tuples(targets);
            sql!("{Uncached}{insert} VALUES {targets}{db.on_conflict_keep(shape)}")
        })?;

        // This query locks the rows, except those that another transaction has locked or deleted.
        wanted.extend(rows);
        let mut columns = Vec::new();
        let locked = load(
            conn,
            |db| {
                let rows = db.listed_rows(table, key, values(&wanted));
                let all = match db {
                    // MySQL requires the table before a `*` that isn't the first column, but SQLite
                    // has no `schema.table.*`.
                    Dialect::MySql => sql!("{table}.*"),
                    _ => sql!("*"),
                };
                sql!("{db.select()}{key}, {all} {rows}{db.lock_free_rows()}")
            },
            |row| {
                if columns.is_empty() {
                    let all = (key.len()..row.field_count()).filter_map(|i| row.get(i));
                    columns
                        .extend(all.map(|field| field.field_name().unwrap_or_default().to_owned()));
                }
                row_key(row, keys, shape)
            },
        )?;
        if let Some(unknown) = columns.iter().find(|name| !shape.knows(name, &columns)) {
            return refuse(format!(
                "merging rows of `{}` would lose the values of the column `{unknown}`: update its \
                 `table!` with `diesel print-schema`; a counter is a `BigInt` that is not `Nullable`",
                shape.label
            ));
        }

        // A row can be merged if its target, the row that it's added to, is locked too. If one key
        // is spelled in two ways, only one spelling has a target, and rows with the other one stay.
        let is_target = |row: &RowKey<Keys::Key>| range.target_of(row) == *row;
        let (targets, mut rows): (Vec<_>, Vec<_>) = locked.into_iter().partition(is_target);
        let targets = BTreeSet::from_iter(targets);
        rows.retain(|row| targets.contains(&range.target_of(row)));
        // The database returns them in any order. In the order of their keys, statements are the
        // same every time.
        rows.sort_unstable();
        if rows.is_empty() {
            return Ok(0);
        }
        let number = range.targets_of(&rows).len();
        write(conn, shape.label, number, |db| {
            let insert = db.insert_into(table, key, counters);
            let mut to: Vec<Sql<'_, _>> =
                shape.entity().iter().map(|name| sql!("{name}")).collect();
            to.push(db.folded_day(range.into, shape.day()));
            let sums = counters.iter().map(|counter| db.sum_to_insert(*counter));
            let sums = list(", ", sums);
            let rows = db.listed_rows(table, key, values(&rows));
            // The first day of `Period::Total` is a constant, and no database groups by a constant.
            let by = &to[..to.len() - usize::from(range.into == Period::Total)];
            let by = (!by.is_empty()).then(|| sql!(" GROUP BY {by} ORDER BY {by}"));
            let added = db.on_conflict_add(shape, counters);
            sql!("{insert} SELECT {to}, 0, {sums} {rows}{by}{added}")
        })?;
        let deleted = execute(conn, |db| db.rows_to_delete(table, key, values(&rows)))?;

        // On PostgreSQL and SQLite, a trigger can keep a row, which would then count twice.
        if deleted < rows.len() {
            return not_written(shape.label);
        }
        Ok(deleted as u64)
    }
}

/// Returns a row's key, which the row begins with.
fn row_key<'a, Keys, DB>(
    row: &impl Row<'a, DB>,
    keys: &Keys,
    shape: &Shape<'_>,
) -> deserialize::Result<RowKey<Keys::Key>>
where
    Keys: LoadKey<DB>,
    DB: CounterBackend,
{
    let day = shape.entity().len();
    let slot = day + 1;
    Ok((keys.load(row)?, DB::day(row, day)?, DB::slot(row, slot)?))
}

/// The values of these keys.
fn values<E: Values<DB>, DB: CounterBackend>(keys: &[RowKey<E>]) -> Vec<rows::Row<'_, DB>> {
    let values = keys.iter().map(|(entity, day, slot)| {
        let mut values = row(entity, 0);
        values.extend([sql!("{day}"), sql!("{slot}")]);
        values
    });
    values.collect()
}
