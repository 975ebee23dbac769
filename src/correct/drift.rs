//! The query that compares stored counts with true counts.

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::query_builder::QueryFragment;

use crate::correct::recount::{Drift, Recount};
use crate::correct::where_rows;
use crate::day::Period;
use crate::error::refuse;
use crate::shape::Name;
use crate::sql::{
    Binds as _, CounterBackend, Dialect, ENTITY, Sql, fragment, list, load, named, numbered, sql,
    where_all,
};
use crate::typed::counters::{Counters, KeyType, amounts};
use crate::typed::entities::Entities;
use crate::typed::key::{KeyTypes, OwnedKey};
use crate::typed::stored_key::integer;
use crate::typed::table::CounterTable;

// These names are long, because the source can read a table of any name.
const SOURCE: Name<'static> = Name("diesel_counters_source");
const DAY: Name<'static> = Name("diesel_counters_day");
const STORED: [Name<'static>; 8] = numbered!(Name, "diesel_counters_stored_": 0 1 2 3 4 5 6 7);
const ACTUAL: [Name<'static>; 8] = numbered!(Name, "diesel_counters_actual_": 0 1 2 3 4 5 6 7);

impl<C: Counters, Source, E> Recount<C, Source, E> {
    /// Loads a row for each entity, or for each day of an entity, whose stored count is wrong.
    pub(super) fn drift<K, Conn>(
        &self,
        entities: &dyn Entities<Conn::Backend>,
        are_locked: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        K: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let (columns, is_by_day) = (KeyType::<C>::COLUMNS, self.is_by_day);
        // It would compare the counts of all days with those that the source returns for one.
        if !self.days.is_all() && (!is_by_day || C::Table::PERIOD == Period::Total) {
            let error = "a recount `between` days requires a source that selects days, and a table \
                that does not count in total";
            return refuse(error);
        }
        let stored = columns + usize::from(is_by_day);
        let actual = stored + C::NAMES.len();
        let mut found = load(
            conn,
            |db| self.sql(db, entities, are_locked),
            |row| {
                let day = is_by_day.then(|| Conn::Backend::day(row, columns));
                Ok(Drift {
                    entity: K::load(row)?,
                    day: day.transpose()?,
                    stored: C::value(amounts::<C, Conn::Backend>(row, stored)?),
                    actual: C::value(amounts::<C, Conn::Backend>(row, actual)?),
                })
            },
        )?;
        // Without an entity and a day there is always a row.
        found.retain(|row| C::amounts(row.stored).as_ref() != C::amounts(row.actual).as_ref());
        Ok(found)
    }

    /// A query of the stored and the true counts, grouped by entity, or by entity and day.
    //
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
    fn sql<'a, DB: CounterBackend>(
        &'a self,
        db: Dialect,
        entities: &'a dyn Entities<DB>,
        are_locked: bool,
    ) -> Sql<'a, DB>
    where
        Source: QueryFragment<DB>,
    {
        let shape = C::Table::shape();
        let (table, entity, number) = (shape.table, shape.entity(), C::NAMES.len());
        let (stored, actual) = (&STORED[..number], &ACTUAL[..number]);
        let (source, select) = (fragment(&self.source), db.select());

        let mut columns = entity.to_vec();
        let mut names = ENTITY[..entity.len()].to_vec();
        if self.is_by_day {
            columns.push(shape.day());
            names.push(DAY);
        }
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
        let counters = C::NAMES.iter().map(|name| part(groups_stored, *name));
        let (counters, no_actual) = (named(counters, stored), named(["0"; 8], actual));
        let rows = where_rows(db, shape, entities, &self.days, are_locked);
        let by_columns = grouped(groups_stored, &columns);
        let stored_part =
            sql!("SELECT {key}{counters}, {no_actual} FROM {table}{rows}{by_columns}");

        let of_names = || entities.condition(db, &ENTITY[..entity.len()]);
        let actuals = list(", ", actual.iter().map(|name| part(groups_source, *name)));
        let mut conditions = vec![of_names().filter(|_| exact)];
        if are_locked && db == Dialect::PostgreSql && (!exact || entity.len() > 1) {
            // The other databases take the condition on both parts into each of them. PostgreSQL does
            // not if their types or collations differ, and a list of keys of several columns never. Each
            // key has a stored row, its lock, whose text has the collation that texts of both
            // parts are compared by.
            for (column, name) in entity.iter().zip(&names) {
                let rows = where_all([entities.condition(db, entity)]);
                conditions.push(Some(sql!(
                    "{*name} = ANY(ARRAY(SELECT {*column} FROM {table}{rows}))"
                )));
            }
        }
        conditions.push(self.days.unless_all(DAY));
        let (conditions, by_names) = (where_all(conditions), grouped(groups_source, &names));
        // MySQL takes a bind value that the source selects for a text.
        let types = KeyType::<C>::sql_types();
        let types = types.iter().map(integer).chain([Some("DATE")]);
        let key = names.iter().zip(types).map(|(name, of)| match of {
            Some(of) if db == Dialect::MySql => sql!("CAST({*name} AS {of}), "),
            _ => sql!("{*name}, "),
        });
        let (key, zeros) = (list("", key), vec!["0"; number]);
        let source_part =
            sql!("SELECT {key}{&zeros}, {actuals} FROM {SOURCE}{conditions}{by_names}");

        let of_both = where_all([of_names().filter(|_| !exact)]);
        let wrong = stored.iter().zip(actual).map(|(stored, actual)| {
            let (stored, actual) = (db.sum(*stored), db.sum(*actual));
            sql!("{stored} <> {actual}")
        });
        let wrong = list(" OR ", wrong);
        let groups = (!names.is_empty())
            .then(|| sql!(" GROUP BY {&names} HAVING {wrong} ORDER BY {&names}"));
        sql!(
            "WITH {SOURCE} ({then(&names)}{actual}) AS ({source}) {select}{then(&names)}\
             {sums(stored)}, {sums(actual)} FROM ({stored_part} UNION ALL {source_part}) \
             AS diesel_counters_both{of_both}{groups}"
        )
    }
}
