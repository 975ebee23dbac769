//! The statements of a merge.

use crate::day::Period;
use crate::merge::range::MergeRange;
use crate::shape::Shape;
use crate::slot::Partition;
use crate::sql::rows::{self, Row};
use crate::sql::{CounterBackend, Dialect, Sql, Uncached, Values, and, list, row, sql};

/// The keys of rows: those of the entities, the days and the slots.
pub(super) struct RowKeys<Keys> {
    pub(super) entities: Keys,
    pub(super) days_and_slots: Vec<(chrono::NaiveDate, i16)>,
}

impl<Keys> RowKeys<Keys> {
    fn entity_and_day<DB>(&self, i: usize) -> Row<'_, DB>
    where
        Keys: Values<DB>,
        DB: CounterBackend,
    {
        let mut values = row(&self.entities, i);
        values.push(sql!("{&self.days_and_slots[i].0}"));
        values
    }

    fn rows<DB>(&self) -> Vec<Row<'_, DB>>
    where
        Keys: Values<DB>,
        DB: CounterBackend,
    {
        let rows = self.days_and_slots.iter().enumerate();
        rows.map(|(i, (_, slot))| {
            let mut values = self.entity_and_day(i);
            values.push(sql!("{slot}"));
            values
        })
        .collect()
    }
}

/// The number of rows to merge.
pub(super) fn count<'a, DB: CounterBackend>(
    db: Dialect,
    shape: &Shape<'a>,
    range: &'a MergeRange,
) -> Sql<'a, DB> {
    let (select, table) = (db.select(), shape.table);
    sql!("{select}COUNT(*) FROM {table} WHERE {range.condition(db, shape)}")
}

/// The number of rows whose day SQLite stores as another text than `YYYY-MM-DD`.
pub(super) fn count_other_days<'a, DB: CounterBackend>(
    db: Dialect,
    shape: &Shape<'a>,
) -> Sql<'a, DB> {
    let (select, table, is_day) = (db.select(), shape.table, and(db.is_day(shape.day())));
    sql!("{select}COUNT(*) FROM {table} WHERE NOT (1 = 1{is_day})")
}

/// The keys of the next rows to merge, after this one, in order. It locks no rows.
///
/// By another index, each batch would sort all rows that are left. PostgreSQL refuses a prepared query
/// once a column of its result has got another type, as long as the connection lives, so it is not
/// cached.
pub(super) fn next<'a, Keys, DB>(
    db: Dialect,
    shape: &'a Shape<'a>,
    range: &'a MergeRange,
    after: Option<&'a RowKeys<Keys>>,
    limit: &'a i64,
) -> Sql<'a, DB>
where
    Keys: Values<DB>,
    DB: CounterBackend,
{
    let Shape { table, key, .. } = shape;
    let entity = shape.entity().len();
    let after = after.map(|after| rows::compare(db, key, entity, " > ", &after.rows()[0]));
    let (select, is_in, after) = (db.select(), range.condition(db, shape), and(after));
    sql!(
        "{Uncached}{select}{key} FROM {*table}{db.by_key()} WHERE {is_in}{after} \
         ORDER BY {key} LIMIT {limit}"
    )
}

/// Inserts the rows that other rows are added to, with zeros, if they do not exist. Each number of
/// rows has a text of its own, so it is not cached.
///
/// It is the first statement of its transaction, and the only one that waits for locks. While other
/// transactions wait for the locks of the later statements, the merge itself waits for none. On
/// SQLite, a transaction that reads before it writes fails if another transaction has written in
/// between. This one writes first, and waits for the write lock.
pub(super) fn open<'a, Keys, DB>(
    db: Dialect,
    shape: &'a Shape<'a>,
    targets: &'a RowKeys<Keys>,
    partition: &'a Partition,
) -> Sql<'a, DB>
where
    Keys: Values<DB>,
    DB: CounterBackend,
{
    let Shape { key, counters, .. } = shape;
    let insert = db.insert_into(shape.table, key, counters);
    let values = rows::values(0..targets.days_and_slots.len(), |i| {
        let mut values = targets.entity_and_day(i);
        // PostgreSQL compares the partition, once.
        values.push(match i {
            0 => db.own_merged_slot(partition),
            _ => sql!("{partition.merged()}"),
        });
        values.extend(counters.iter().map(|_| sql!("0")));
        values
    });
    sql!("{Uncached}{insert} VALUES {values}{db.on_conflict_keep(key, counters)}")
}

/// Locks rows, except those that another transaction has locked or deleted. Returns their keys, and
/// all their columns.
pub(super) fn lock<'a, Keys, DB>(
    db: Dialect,
    shape: &'a Shape<'a>,
    keys: &'a RowKeys<Keys>,
) -> Sql<'a, DB>
where
    Keys: Values<DB>,
    DB: CounterBackend,
{
    let Shape { table, key, .. } = shape;
    let (select, columns) = (db.select(), db.all_columns(*table));
    let rows = db.listed_rows(*table, key, &keys.rows());
    sql!("{select}{key}, {columns} {rows}{db.lock_free_rows()}")
}

/// Adds rows to the merged row of the first day of their period.
pub(super) fn add<'a, Keys, DB>(
    db: Dialect,
    shape: &'a Shape<'a>,
    keys: &'a RowKeys<Keys>,
    range: &'a MergeRange,
) -> Sql<'a, DB>
where
    Keys: Values<DB>,
    DB: CounterBackend,
{
    let Shape { key, counters, .. } = shape;
    let insert = db.insert_into(shape.table, key, counters);
    let entity = shape.entity().iter().map(|name| sql!("{*name}"));
    let start = db.start_of(range.into, shape.day());
    let to: Vec<Sql<'a, DB>> = entity.chain([start]).collect();
    let slot = range.partition.merged();
    let sums = list(
        ", ",
        counters.iter().map(|counter| db.sum_to_insert(*counter)),
    );
    let rows = db.listed_rows(shape.table, key, &keys.rows());
    // No database groups by a constant, which the start of `Period::Total` is.
    let by = &to[..to.len() - usize::from(range.into == Period::Total)];
    let by = (!by.is_empty()).then(|| sql!(" GROUP BY {by} ORDER BY {by}"));
    let added = db.on_conflict_add(key, counters);
    sql!("{insert} SELECT {&to}, {slot}, {sums} {rows}{by}{added}")
}

/// Deletes rows.
pub(super) fn delete<'a, Keys, DB>(
    db: Dialect,
    shape: &'a Shape<'a>,
    keys: &'a RowKeys<Keys>,
) -> Sql<'a, DB>
where
    Keys: Values<DB>,
    DB: CounterBackend,
{
    let (delete, rows) = (
        db.delete(shape.table),
        db.listed_rows(shape.table, &shape.key, &keys.rows()),
    );
    sql!("{delete} {rows}")
}
