//! The statements of a copy of totals: they compare the rows of the parent table, and write those that
//! differ.

use diesel::deserialize;
use diesel::row::Row;

use crate::day::DayRange;
use crate::merge::materialize::TotalColumn;
use crate::shape::{Name, Shape};
use crate::sql::rows::{self, WANTED_KEY};
use crate::sql::{
    Bind, CounterBackend, Dialect, One, Sql, Uncached, Values, and, list, row, sql, where_all,
};
use crate::typed::key::{BindKey, KeyTypes, LoadKey, columns_of};

/// The number of rows that one query compares. The query locks no rows, and returns only those that
/// differ.
pub(super) const COMPARED: i64 = 50_000;

/// The number of rows before the last one that a query compares.
const BEFORE_LAST: &i64 = &(COMPARED - 1);

/// A row of the parent table whose column is not the total.
#[derive(Debug)]
pub(super) struct Differing<K> {
    pub(super) key: K,
    /// The value of the column.
    pub(super) held: Option<i64>,
    total: i64,
}

impl<K> Differing<K> {
    pub(super) fn load<'a, Types, DB>(row: &impl Row<'a, DB>) -> deserialize::Result<Self>
    where
        Types: KeyTypes,
        K: LoadKey<Types, DB>,
        DB: CounterBackend,
    {
        Ok(Differing {
            key: K::load(row)?,
            held: DB::held(row, Types::COLUMNS)?,
            total: DB::amount(row, Types::COLUMNS + 1)?,
        })
    }

    pub(super) fn keys<Types, DB>(rows: &[Self]) -> K::Columns
    where
        K: BindKey<Types, DB> + Clone,
        DB: CounterBackend,
    {
        columns_of(rows.iter().map(|row| row.key.clone()))
    }
}

/// A range of keys of the parent table.
pub(super) struct KeyRange<Types, K> {
    after: Option<One<Types, K>>,
    last: Option<One<Types, K>>,
}

const PARENT: &str = "diesel_counters_parent";
const TOTALS: &str = "diesel_counters_totals";
const HELD: &str = "diesel_counters_held";
const TOTAL: &str = "diesel_counters_total";

impl<Types: KeyTypes, K> KeyRange<Types, K> {
    /// The range that begins after this key.
    pub(super) fn after(key: Option<K>) -> Self {
        KeyRange {
            after: key.map(One::new),
            last: None,
        }
    }

    pub(super) fn end_at(&mut self, key: Option<K>) {
        self.last = key.map(One::new);
    }

    pub(super) fn last(&self) -> Option<&K> {
        self.last.as_ref().map(|last| &last.0)
    }

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

    /// A query of the last key of the next range. It returns no row if the rest of the table is shorter
    /// than a range.
    ///
    /// PostgreSQL refuses a prepared query once the key has got another type.
    pub(super) fn end<'a, DB>(&'a self, db: Dialect, into: &'a TotalColumn<'a>) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let TotalColumn { table, key, .. } = into;
        let (select, rows) = (db.select(), where_all(self.conditions(db, key)));
        sql!(
            "{Uncached}{select}{key} FROM {*table}{rows} ORDER BY {key} \
             LIMIT 1 OFFSET {BEFORE_LAST}"
        )
    }

    /// A query of the number of rows of the range.
    pub(super) fn count<'a, DB>(&'a self, db: Dialect, into: &'a TotalColumn<'a>) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let TotalColumn { table, key, .. } = into;
        let (select, rows) = (db.select(), where_all(self.conditions(db, key)));
        sql!("{select}COUNT(*) FROM {*table}{rows}")
    }

    /// A query of the rows of the range whose column is not the total; of none if they `may_be_stale` on
    /// this database.
    //
    // SELECT key, held, total FROM (
    //     SELECT id AS key, total_views AS held, COALESCE(total, 0) AS total FROM articles
    //     LEFT JOIN (
    //         SELECT article_id, SUM(views) AS total FROM article_counters
    //         WHERE article_id > ? AND article_id <= ? AND day BETWEEN ? AND ? GROUP BY article_id
    //     ) AS totals ON article_id = id
    //     WHERE id > ? AND id <= ?
    // ) AS parent WHERE held <> total OR held IS NULL ORDER BY key
    pub(super) fn differing<'a, DB>(
        &'a self,
        db: Dialect,
        (shape, counter): (&'a Shape<'a>, Name<'a>),
        into: &'a TotalColumn<'a>,
        days: &'a DayRange,
        may_be_stale: bool,
    ) -> Sql<'a, DB>
    where
        K: BindKey<Types, DB>,
        DB: CounterBackend,
    {
        let TotalColumn { table, key, column } = into;
        let entity = &shape.entity()[..key.len()];
        let names = &WANTED_KEY[..key.len()];
        let (sum, counters) = (db.sum(counter), shape.table);
        let named = |columns: &[Name<'a>]| {
            let columns = columns.iter().zip(names);
            list(
                "",
                columns.map(|(column, name)| sql!("{*column} AS {*name}, ")),
            )
        };
        let held = sql!("{named(key)}{*column} AS {HELD}");
        let range = where_all(self.conditions(db, key));
        // The two columns of texts can have different collations, which order texts differently.
        // Then a range of one column is not a range of the other.
        let parent = if Types::is_exact() {
            let [after, last] = self.conditions(db, entity);
            let counted = where_all([after, last, days.condition_unless_all(shape.day())]);
            let is_parent = names.iter().zip(key);
            let is_parent = is_parent.map(|(name, column)| sql!("{TOTALS}.{*name} = {*column}"));
            let is_parent = list(" AND ", is_parent);
            sql!(
                "SELECT {held}, COALESCE({TOTALS}.{TOTAL}, 0) AS {TOTAL} FROM {*table} \
                 LEFT JOIN (SELECT {named(entity)}{sum} AS {TOTAL} FROM {counters}{counted} \
                 GROUP BY {entity}) AS {TOTALS} ON {is_parent}{range}"
            )
        } else {
            let is_parent = entity.iter().zip(key);
            let is_parent =
                is_parent.map(|(column, name)| sql!("{TOTALS}.{*column} = {*table}.{*name}"));
            let is_parent = list(" AND ", is_parent);
            let days = and(days.condition_unless_all(shape.day()));
            sql!(
                "SELECT {held}, (SELECT {sum} FROM {counters} AS {TOTALS} WHERE {is_parent}{days}) \
                 AS {TOTAL} FROM {*table}{range}"
            )
        };
        let is_stale = may_be_stale && db.reads_old_snapshots();
        let end = if is_stale { " LIMIT 0" } else { "" };
        sql!(
            "{Uncached}{db.select()}{names}, {HELD}, {TOTAL} FROM ({parent}) AS {PARENT} \
             WHERE {HELD} <> {TOTAL} OR {HELD} IS NULL ORDER BY {names}{end}"
        )
    }
}

/// Writes totals into the rows whose column has not changed since it was read. Each number of rows has a
/// text of its own, so it is not cached.
pub(super) fn write<'a, K, DB: CounterBackend>(
    db: Dialect,
    into: &'a TotalColumn<'a>,
    keys: &'a dyn Values<DB>,
    rows: &'a [Differing<K>],
) -> Sql<'a, DB> {
    let TotalColumn { table, key, column } = into;
    let mut columns = key.clone();
    columns.extend([*column, *column]);
    let mut names = WANTED_KEY[..key.len()].to_vec();
    let is_key = key.iter().zip(&names);
    let is_key = list(
        "",
        is_key.map(|(column, name)| sql!("{*column} = {*name} AND ")),
    );
    let on = sql!("{is_key}({*column} = {HELD} OR {HELD} IS NULL AND {*column} IS NULL)");
    names.extend([HELD, TOTAL]);
    let rows = rows.iter().enumerate().map(|(i, differing)| {
        let mut values = row(keys, i);
        values.push(sql!("{Bind::Column(&differing.held)}"));
        values.push(sql!("{&differing.total}"));
        values
    });
    db.update_from(*table, &columns, &names, &Vec::from_iter(rows), &on)
}
