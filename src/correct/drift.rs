//! The query that compares stored counts with true counts.

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::query_builder::QueryFragment;

use crate::correct::recount::{Drift, Recount};
use crate::correct::where_rows;
use crate::day::Period;
use crate::error::refuse;
use crate::shape::{Name, Shape};
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
        let columns = KeyType::<C>::COLUMNS;
        let is_by_day = self.is_by_day;
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
        let number = C::NAMES.len();
        let mut compared = Compared {
            db,
            shape,
            columns: shape.entity().to_vec(),
            names: ENTITY[..shape.entity().len()].to_vec(),
            stored: &STORED[..number],
            actual: &ACTUAL[..number],
            // Texts are compared by the collation of the counter table, which can differ from the
            // source's.
            is_exact: KeyType::<C>::is_exact(),
        };
        if self.is_by_day {
            compared.columns.push(shape.day());
            compared.names.push(DAY);
        }
        let rows = where_rows(db, shape, entities, &self.days, are_locked);
        let stored_part = compared.stored_part(C::NAMES, rows);
        let days = self.days.unless_all(DAY);
        let key_types = KeyType::<C>::sql_types();
        let key_types = key_types.iter().map(integer).chain([Some("DATE")]);
        let source_part = compared.source_part(key_types, entities, are_locked, days);

        let of_entities = entities.condition(db, &ENTITY[..shape.entity().len()]);
        let of_both = where_all([of_entities.filter(|_| !compared.is_exact)]);
        let Compared {
            names,
            stored,
            actual,
            ..
        } = compared;
        let key = || list("", names.iter().map(|name| sql!("{*name}, ")));
        let sums = |counters: &[Name<'static>]| list(", ", counters.iter().map(|c| db.sum(*c)));
        let are_wrong = stored.iter().zip(actual).map(|(stored, actual)| {
            let stored = db.sum(*stored);
            let actual = db.sum(*actual);
            sql!("{stored} <> {actual}")
        });
        let are_wrong = list(" OR ", are_wrong);
        let groups = (!names.is_empty())
            .then(|| sql!(" GROUP BY {&names} HAVING {are_wrong} ORDER BY {&names}"));
        let source = fragment(&self.source);
        let select = db.select();
        sql!(
            "WITH {SOURCE} ({key()}{actual}) AS ({source}) {select}{key()}\
             {sums(stored)}, {sums(actual)} FROM ({stored_part} UNION ALL {source_part}) \
             AS diesel_counters_both{of_both}{groups}"
        )
    }
}

/// What both parts of the query have.
struct Compared<'a> {
    db: Dialect,
    shape: &'a Shape<'static>,
    /// The columns of the counter table by which counts are grouped: the entity's, and the day.
    columns: Vec<Name<'static>>,
    /// What the columns are called in the query.
    names: Vec<Name<'static>>,
    /// What the counters are called in the query: those that are stored, and the true ones.
    stored: &'static [Name<'static>],
    actual: &'static [Name<'static>],
    /// Whether two keys are equal in both parts if they are equal in one.
    is_exact: bool,
}

impl<'a> Compared<'a> {
    /// The rows of the counter table, with 0 as their true counts. They are grouped, which reads
    /// them by an index, if it has one. SQLite groups both parts at once.
    fn stored_part<DB: CounterBackend>(
        &self,
        counters: &'static [Name<'static>],
        rows: Option<Sql<'a, DB>>,
    ) -> Sql<'a, DB> {
        let are_grouped = self.db != Dialect::Sqlite;
        let key = self.columns.iter().zip(&self.names);
        let key = list("", key.map(|(column, name)| sql!("{*column} AS {*name}, ")));
        let counters = counters.iter().map(|name| sum_if(are_grouped, *name));
        let counters = named(counters, self.stored);
        let no_actual = named(["0"; 8], self.actual);
        let groups = group_by(are_grouped, &self.columns);
        let table = self.shape.table;
        sql!("SELECT {key}{counters}, {no_actual} FROM {table}{rows}{groups}")
    }

    /// The rows of the source, with 0 as their stored counts. They are grouped by themselves if
    /// their keys are equal as those of the counter table are.
    fn source_part<DB: CounterBackend>(
        &self,
        key_types: impl Iterator<Item = Option<&'static str>>,
        entities: &'a dyn Entities<DB>,
        are_locked: bool,
        days: Option<Sql<'a, DB>>,
    ) -> Sql<'a, DB> {
        let db = self.db;
        let entity = self.shape.entity();
        let are_grouped = db != Dialect::Sqlite && self.is_exact;
        // MySQL takes a bind value that the source selects for a text.
        let key = self.names.iter().zip(key_types);
        let key = key.map(|(name, key_type)| match key_type {
            Some(key_type) if db == Dialect::MySql => sql!("CAST({*name} AS {key_type}), "),
            _ => sql!("{*name}, "),
        });
        let key = list("", key);
        let zeros = vec!["0"; self.actual.len()];
        let actual = self.actual.iter();
        let actual = list(", ", actual.map(|name| sum_if(are_grouped, *name)));

        let of_entities = entities.condition(db, &ENTITY[..entity.len()]);
        let mut conditions = vec![of_entities.filter(|_| self.is_exact)];
        if are_locked && db == Dialect::PostgreSql && (!self.is_exact || entity.len() > 1) {
            // The other databases take the condition on both parts into each of them. PostgreSQL
            // does not if their types or collations differ, and a list of keys of
            // several columns never. Each key has a stored row, its lock, whose text
            // has the collation that texts of both parts are compared by.
            let table = self.shape.table;
            for (column, name) in entity.iter().zip(&self.names) {
                let rows = where_all([entities.condition(db, entity)]);
                conditions.push(Some(sql!(
                    "{*name} = ANY(ARRAY(SELECT {*column} FROM {table}{rows}))"
                )));
            }
        }
        conditions.push(days);
        let conditions = where_all(conditions);
        let groups = group_by(are_grouped, &self.names);
        sql!("SELECT {key}{zeros}, {actual} FROM {SOURCE}{conditions}{groups}")
    }
}

fn sum_if<'a, DB: CounterBackend>(are_grouped: bool, counter: Name<'static>) -> Sql<'a, DB> {
    match are_grouped {
        true => sql!("SUM({counter})"),
        false => sql!("{counter}"),
    }
}

/// ` GROUP BY` and these columns, unless there are none.
fn group_by<'a, DB: CounterBackend>(
    are_grouped: bool,
    columns: &[Name<'static>],
) -> Option<Sql<'a, DB>> {
    (are_grouped && !columns.is_empty()).then(|| sql!(" GROUP BY {columns}"))
}
