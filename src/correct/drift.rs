//! The query that compares stored counts with true counts.

use std::marker::PhantomData;

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::deserialize;
use diesel::query_builder::QueryFragment;
use diesel::row::Row;

use crate::correct::recount::Found;
use crate::correct::{where_locked, where_rows};
use crate::day::DayRange;
use crate::read::days::Days;
use crate::shape::Name;
use crate::sql::{
    CounterBackend, Dialect, ENTITY, Sql, fragment, list, load, numbered, sql, where_all,
};
use crate::typed::counters::{Counters, KeyType, amounts};
use crate::typed::key::{Entities, KeyTypes, LoadKey};
use crate::typed::settings::CounterSettings;
use crate::typed::stored_key::integer;

/// A query of the stored and the true counts of entities, grouped by entity, or by entity and day.
pub(super) struct DriftQuery<'a, C, DB: CounterBackend> {
    source: &'a dyn QueryFragment<DB>,
    entities: &'a dyn Entities<DB>,
    days: &'a DayRange,
    by_day: bool,
    /// Whether the entities have been locked.
    is_locked: bool,
    of: PhantomData<C>,
}

// These names are long, because the source can read a table of any name.
const SOURCE: Name<'static> = Name("diesel_counters_source");
const DAY: Name<'static> = Name("diesel_counters_day");
const STORED: [Name<'static>; 8] = numbered!(Name, "diesel_counters_stored_": 0 1 2 3 4 5 6 7);
const ACTUAL: [Name<'static>; 8] = numbered!(Name, "diesel_counters_actual_": 0 1 2 3 4 5 6 7);

impl<'a, C: Counters, DB: CounterBackend> DriftQuery<'a, C, DB> {
    pub(super) fn new(
        source: &'a dyn QueryFragment<DB>,
        entities: &'a dyn Entities<DB>,
        days: &'a DayRange,
        by_day: bool,
    ) -> Self {
        DriftQuery {
            source,
            entities,
            days,
            by_day,
            is_locked: false,
            of: PhantomData,
        }
    }

    pub(super) fn locked(mut self) -> Self {
        self.is_locked = true;
        self
    }

    /// Loads a row for each entity, or for each day of an entity, whose stored count is wrong.
    pub(super) fn load<K, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Found<C, K>>>
    where
        K: LoadKey<KeyType<C>, DB>,
        Conn: LoadConnection<Backend = DB>,
    {
        let columns = KeyType::<C>::COLUMNS;
        load(
            conn,
            |db| self.sql(db, true),
            |row| self.found(K::load(row)?, row, columns),
        )
    }

    /// Loads the row of one entity, or a row for each of its days whose stored count is wrong.
    pub(super) fn load_of_one<Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Found<C, ()>>>
    where
        Conn: LoadConnection<Backend = DB>,
    {
        load(conn, |db| self.sql(db, false), |row| self.found((), row, 0))
    }

    fn found<'r, K>(
        &self,
        entity: K,
        row: &impl Row<'r, DB>,
        column: usize,
    ) -> deserialize::Result<Found<C, K>> {
        let day = self.by_day.then(|| DB::day(row, column)).transpose()?;
        let stored = column + usize::from(self.by_day);
        Ok(Found {
            entity,
            day,
            stored: amounts::<C, DB>(row, stored)?,
            actual: amounts::<C, DB>(row, stored + C::NAMES.len())?,
        })
    }

    // In the statement, each name below begins with `diesel_counters_`.
    //
    // WITH source (entity, actual_0) AS (…)
    // SELECT entity, SUM(stored_0), SUM(actual_0)
    // FROM (
    //     SELECT article_id AS entity, views AS stored_0, 0 AS actual_0 FROM article_counters
    //     UNION ALL
    //     SELECT entity, 0, actual_0 FROM source
    // ) AS both
    // GROUP BY entity HAVING SUM(stored_0) <> SUM(actual_0) ORDER BY entity
    fn sql(&self, db: Dialect, by_entity: bool) -> Sql<'_, DB> {
        let shape = C::Table::shape();
        let (table, entity, number) = (shape.table, shape.entity(), C::NAMES.len());
        let (stored, actual) = (&STORED[..number], &ACTUAL[..number]);
        let (source, select) = (fragment(self.source), db.select());

        let mut columns = entity.to_vec();
        let mut names = ENTITY[..entity.len()].to_vec();
        if self.by_day {
            columns.push(shape.day());
            names.push(DAY);
        }
        let of_entity = if by_entity { 0 } else { entity.len() };
        let by = &names[of_entity..];
        let then = |names: &[Name<'static>]| list("", names.iter().map(|name| sql!("{*name}, ")));
        let sums = |counters: &[Name<'static>]| list(", ", counters.iter().map(|c| db.sum(*c)));

        // Each part is grouped by itself, which reads its rows by an index, if it has one.
        let groups_stored = db != Dialect::Sqlite;
        // Texts are compared by the collation of the counter table, which can differ from the
        // source's.
        let exact = KeyType::<C>::is_exact();
        let groups_source = groups_stored && exact;
        let part = |is_sum: bool, counter: Name<'static>| match is_sum {
            true => sql!("SUM({counter})"),
            false => sql!("{counter}"),
        };
        let grouped = |is_grouped: bool, names: &[Name<'static>]| {
            (is_grouped && !names.is_empty()).then(|| sql!(" GROUP BY {names}"))
        };

        let key = columns.iter().zip(&names);
        let key = list("", key.map(|(column, name)| sql!("{*column} AS {*name}, ")));
        let counters = C::NAMES.iter().zip(stored);
        let counters = counters.map(|(counter, name)| {
            let counter = part(groups_stored, *counter);
            sql!("{counter} AS {*name}, ")
        });
        let (counters, zeros) = (list("", counters), vec!["0"; number]);
        let no_actual = list(", ", actual.iter().map(|name| sql!("0 AS {*name}")));
        let rows = match self.is_locked {
            true => where_locked(db, shape, self.entities, self.days),
            false => where_rows(db, shape, self.entities, self.days),
        };
        let by_columns = grouped(groups_stored, &columns);
        let stored_part = sql!("SELECT {key}{counters}{no_actual} FROM {table}{rows}{by_columns}");

        let of_names = || self.entities.condition(db, &ENTITY[..entity.len()]);
        let actuals = actual.iter().map(|name| part(groups_source, *name));
        let actuals = list(", ", actuals);
        let mut conditions = vec![of_names().filter(|_| exact)];
        if self.is_locked && db == Dialect::PostgreSql && (!exact || entity.len() > 1) {
            // The other databases take the condition on both parts into each of them. PostgreSQL does
            // not if their types or collations differ, and a list of keys of several columns never. Each
            // key has a stored row, its lock, whose text has the collation that texts of both
            // parts are compared by.
            for (column, name) in entity.iter().zip(&names) {
                let rows = where_all([self.entities.condition(db, entity)]);
                conditions.push(Some(sql!(
                    "{*name} = ANY(ARRAY(SELECT {*column} FROM {table}{rows}))"
                )));
            }
        }
        conditions.push(self.days.condition(DAY).filter(|_| !self.days.is_all()));
        let (conditions, by_names) = (where_all(conditions), grouped(groups_source, &names));
        // MySQL takes a bind value that the source selects for a text.
        let mut types: Vec<_> = KeyType::<C>::sql_types().iter().map(integer).collect();
        types.push(Some("DATE"));
        let key = names
            .iter()
            .zip(types)
            .map(|(name, sql_type)| match sql_type {
                Some(sql_type) if db == Dialect::MySql => sql!("CAST({*name} AS {sql_type}), "),
                _ => sql!("{*name}, "),
            });
        let key = list("", key);
        let source_part =
            sql!("SELECT {key}{&zeros}, {actuals} FROM {SOURCE}{conditions}{by_names}");

        let of_both = where_all([of_names().filter(|_| !exact)]);
        let wrong = stored.iter().zip(actual).map(|(stored, actual)| {
            let (stored, actual) = (db.sum(*stored), db.sum(*actual));
            sql!("{stored} <> {actual}")
        });
        let wrong = list(" OR ", wrong);
        let groups = (!by.is_empty()).then(|| sql!(" GROUP BY {by} HAVING {wrong} ORDER BY {by}"));
        sql!(
            "WITH {SOURCE} ({then(&names)}{actual}) AS ({source}) {select}{then(by)}\
             {sums(stored)}, {sums(actual)} FROM ({stored_part} UNION ALL {source_part}) \
             AS diesel_counters_both{of_both}{groups}"
        )
    }
}
