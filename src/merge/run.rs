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
    Binds, CounterBackend, Dialect, Number, Sql, Uncached, Values, and, execute, key_values, list,
    load, load_number, rows, sql, write,
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
            left: self.count_rows(conn)?,
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
        if !self.take_lock(conn)? {
            return Ok(Compacted {
                already_running: true,
                ..Compacted::default()
            });
        }
        // The lock belongs to the session, which a pool keeps open, so this releases it after a
        // panic too.
        let merged = catch_unwind(AssertUnwindSafe(|| self.merge(keys, conn)));
        let released = self.release_lock(conn);
        let merged = merged.unwrap_or_else(|panic| resume_unwind(panic))?;
        if !released? {
            return refuse(
                "the advisory lock of this merge belongs to another session: a connection pooler \
                 gives each transaction another session; merge over a direct connection",
            );
        }
        Ok(merged)
    }

    /// Takes the table's advisory lock. Returns whether it did, because another merge may have it.
    ///
    /// Two merges at the same time would be exact too, because each merges only rows that it has
    /// locked, but they would wait for each other.
    fn take_lock<Conn>(&self, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let takes = true;
        self.change_lock(takes, conn)
    }

    /// Releases the table's advisory lock. Returns whether this session had it.
    fn release_lock<Conn>(&self, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let takes = false;
        self.change_lock(takes, conn)
    }

    /// Takes the lock or releases it. Returns whether it did.
    fn change_lock<Conn>(&self, takes: bool, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let table = self.shape.table;
        let quoted = table.quoted();
        let query = |db: Dialect| db.merge_lock(takes, table, &quoted);
        let only_column = 0;
        let results = load(conn, query, |row| Conn::Backend::is_true(row, only_column))?;
        Ok(results == [true])
    }

    /// Returns how many rows there are to merge.
    fn count_rows(
        &self,
        conn: &mut impl LoadConnection<Backend: CounterBackend>,
    ) -> QueryResult<u64> {
        let table = self.shape.table;
        let range = self.range();
        let count = load_number(conn, |db| {
            let is_to_merge = range.condition(db, self.shape);
            sql!("{db.select()}COUNT(*) FROM {table} WHERE {is_to_merge}")
        })?;
        Ok(count.unsigned_abs())
    }

    /// Merges batch after batch, until no row is left or the run is stopped.
    fn merge<Keys, Conn>(&mut self, keys: &Keys, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Keys: LoadKey<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut so_far = Compacted::default();
        if (self.is_stopped)() {
            return Ok(so_far);
        }
        so_far.left = self.count_rows(conn)?;
        let mut ends = Ends::<RowKey<Keys::Key>>::default();
        // If there's nothing to merge, a run reads the table once, or only an index of it. On
        // SQLite, it also searches the whole table for values that aren't days. Once a run has
        // begun, it goes on until no row is left, whatever the count was.
        while so_far.left > 0 || ends.last.is_some() {
            let rows = self.next_batch(ends.last.as_ref(), keys, conn)?;
            let Some(last) = rows.last() else {
                so_far.left = self.count_rows(conn)?;
                break;
            };
            ends.push(last.clone(), self.shape.label)?;
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

    /// Returns the keys of the next rows to merge, which come after the key `after`. Locks no rows.
    fn next_batch<Keys, Conn>(
        &self,
        after: Option<&RowKey<Keys::Key>>,
        keys: &Keys,
        conn: &mut Conn,
    ) -> QueryResult<Vec<RowKey<Keys::Key>>>
    where
        Keys: LoadKey<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = self.shape;
        let (table, key) = (shape.table, &shape.key);
        let range = self.range();
        // A list has the rows to merge, and up to as many rows that they're added to.
        let max_rows = rows::max_listed_rows::<Conn::Backend>(key.len()) / 2;
        let limit = self.batch.min(max_rows);
        // - `index_hint`: by another index, every batch would sort all rows that are left.
        // - `Uncached`: once a column of the result has got another type, PostgreSQL refuses a
        //   prepared query for as long as the connection lives.
        // - `Number`: in a session of one shard, Vitess can't prepare a LIMIT that is a bind value.
        load(
            conn,
            |db| {
                let is_to_merge = range.condition(db, shape);
                let is_after = after.map(|after| {
                    let values = row_values(after);
                    rows::compare(db, key, " > ", &values)
                });
                let and_is_after = and(is_after);
                sql!(
                    "{Uncached}{db.select()}{key} FROM {table}{db.index_hint()} \
                     WHERE {is_to_merge}{and_is_after} ORDER BY {key} LIMIT {Number(limit)}"
                )
            },
            |row| row_key(row, keys, shape),
        )
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
    /// how many it merged.
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
        let mut wanted = range.targets_of(&rows);
        self.insert_missing(&wanted, conn)?;
        wanted.extend(rows);
        let locked = self.lock_rows(&wanted, keys, conn)?;

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
        self.add_to_targets(&rows, conn)?;
        let deleted = execute(conn, |db| {
            db.delete_listed_rows(shape.table, &shape.key, values_of_each(&rows))
        })?;

        // On PostgreSQL and SQLite, a trigger can keep a row, which would then count twice.
        if deleted < rows.len() {
            return not_written(shape.label);
        }
        Ok(deleted as u64)
    }

    /// Inserts the rows that others are added to, with zeros, if they don't exist.
    ///
    /// This is the first statement of the transaction, and the only one that waits for locks: while
    /// other transactions wait for rows that the later statements lock, the merge itself waits for
    /// nobody. On SQLite, a transaction that reads before it writes fails if another one has
    /// written in between, so this one writes first and waits for the write lock.
    fn insert_missing<E, Conn>(&self, targets: &[RowKey<E>], conn: &mut Conn) -> QueryResult<()>
    where
        E: Values<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = self.shape;
        let counters = &shape.counters;
        execute(conn, |db| {
            let insert = db.insert_into(shape.table, &shape.key, counters);
            let mut new_rows = values_of_each(targets);
            for row in &mut new_rows {
                row.extend(counters.iter().map(|_| sql!("0")));
            }
            let tuples = rows::tuples(new_rows);
            let keep = db.on_conflict_keep(shape);
            sql!("{Uncached}{insert} VALUES {tuples}{keep}")
        })?;
        Ok(())
    }

    /// Locks the rows with these keys, except those that another transaction has locked or deleted.
    /// Returns the keys of the locked ones. Fails if the table has a column that its shape doesn't
    /// have.
    fn lock_rows<Keys, Conn>(
        &self,
        wanted: &[RowKey<Keys::Key>],
        keys: &Keys,
        conn: &mut Conn,
    ) -> QueryResult<Vec<RowKey<Keys::Key>>>
    where
        Keys: LoadKey<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = self.shape;
        let (table, key) = (shape.table, &shape.key);
        let mut all_columns = Vec::new();
        let locked = load(
            conn,
            |db| {
                let rows = db.listed_rows_clause(table, key, values_of_each(wanted));
                let all = match db {
                    // MySQL requires the table before a `*` that isn't the first column, but SQLite
                    // has no `schema.table.*`.
                    Dialect::MySql => sql!("{table}.*"),
                    _ => sql!("*"),
                };
                sql!("{db.select()}{key}, {all} {rows}{db.lock_unlocked_rows()}")
            },
            |row| {
                if all_columns.is_empty() {
                    all_columns = field_names_from(row, key.len());
                }
                row_key(row, keys, shape)
            },
        )?;
        let mut columns = all_columns.iter();
        if let Some(unknown) = columns.find(|name| !shape.knows(name, &all_columns)) {
            return refuse(format!(
                "merging rows of `{}` would lose the values of the column `{unknown}`: update its \
                 `table!` with `diesel print-schema`; a counter is a `BigInt` that is not `Nullable`",
                shape.label
            ));
        }
        Ok(locked)
    }

    /// Adds the counts of these rows to the rows of the days that they're merged into.
    fn add_to_targets<E, Conn>(&self, rows: &[RowKey<E>], conn: &mut Conn) -> QueryResult<()>
    where
        E: Values<Conn::Backend> + Clone + Ord,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = self.shape;
        let (table, key, counters) = (shape.table, &shape.key, &shape.counters);
        let range = self.range();
        let target_count = range.targets_of(rows).len();
        write(conn, shape.label, target_count, |db| {
            let insert = db.insert_into(table, key, counters);
            let entity = shape.entity().iter().map(|name| sql!("{name}"));
            let mut entity_and_day: Vec<Sql<'_, _>> = entity.collect();
            entity_and_day.push(db.folded_day(range.into, shape.day()));
            let sums = counters.iter().map(|counter| db.sum_to_insert(*counter));
            let sums = list(", ", sums);
            let rows = db.listed_rows_clause(table, key, values_of_each(rows));
            let groups = match range.into {
                // Its only day is a constant, and no database groups by a constant.
                Period::Total => &entity_and_day[..shape.entity().len()],
                _ => &entity_and_day[..],
            };
            let group_by =
                (!groups.is_empty()).then(|| sql!(" GROUP BY {groups} ORDER BY {groups}"));
            let add = db.on_conflict_add(shape, counters);
            sql!("{insert} SELECT {entity_and_day}, 0, {sums} {rows}{group_by}{add}")
        })
    }
}

/// Returns the names of a row's fields, from this field on.
fn field_names_from<'a, DB: CounterBackend>(row: &impl Row<'a, DB>, first: usize) -> Vec<String> {
    let fields = (first..row.field_count()).filter_map(|i| row.get(i));
    let names = fields.map(|field| field.field_name().unwrap_or_default().to_owned());
    names.collect()
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
    let day_field = shape.entity().len();
    let slot_field = day_field + 1;
    let entity = keys.load(row)?;
    Ok((entity, DB::day(row, day_field)?, DB::slot(row, slot_field)?))
}

/// The values of a row's key: a `?` for each column of the entity's key, the day and the slot.
fn row_values<E: Values<DB>, DB: CounterBackend>(key: &RowKey<E>) -> rows::Row<'_, DB> {
    let (entity, day, slot) = key;
    let mut values = key_values(entity);
    values.extend([sql!("{day}"), sql!("{slot}")]);
    values
}

/// The values of each of these keys.
fn values_of_each<E: Values<DB>, DB: CounterBackend>(keys: &[RowKey<E>]) -> Vec<rows::Row<'_, DB>> {
    keys.iter().map(row_values).collect()
}
