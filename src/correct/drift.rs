//! The query that compares stored counts with true counts.

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::query_builder::QueryFragment;

use crate::correct::recount::{Drift, Recount};
use crate::correct::where_entities;
use crate::day::Period;
use crate::error::refuse;
use crate::key::Entities;
use crate::key::integer;
use crate::key::{KeyTypes, OwnedKey};
use crate::shape::{Name, Shape};
use crate::sql::{
    Binds as _, CounterBackend, Dialect, ENTITY, Sql, aliased, fragment, list, load, numbered, sql,
    where_all,
};
use crate::typed::counters::{Counters, KeyType, amounts};
use crate::typed::table::CounterTable;

// On SQLite, the source can't read a table called `true_counts`.
const SOURCE: Name<'static> = Name("true_counts");
const DAY: Name<'static> = Name("day");
const STORED: [Name<'static>; 8] = numbered!(Name, "stored": "" "_1" "_2" "_3" "_4" "_5" "_6" "_7");
const ACTUAL: [Name<'static>; 8] = numbered!(Name, "actual": "" "_1" "_2" "_3" "_4" "_5" "_6" "_7");

impl<C: Counters, Source, E> Recount<C, Source, E> {
    /// Loads a row for every entity whose stored count is wrong, or for every wrong day if the
    /// source counts by day.
    pub(super) fn drift<K, Conn>(
        &self,
        entities: &dyn Entities<Conn::Backend>,
        has_locks: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        K: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let columns = KeyType::<C>::COLUMNS;
        let is_by_day = self.is_by_day;
        // Otherwise, this would compare counts of different days.
        if !self.days.is_all() && (!is_by_day || C::Table::PERIOD == Period::Total) {
            let error = "a recount `between` days requires a source that selects days, and a table \
                that does not count in total";
            return refuse(error);
        }
        let stored = columns + usize::from(is_by_day);
        let actual = stored + C::NAMES.len();
        let mut found = load(
            conn,
            |db| self.sql(db, entities, has_locks),
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
        // Without an entity and a day, the query always returns a row, even if its counts are
        // right.
        found.retain(|row| C::amounts(row.stored).as_ref() != C::amounts(row.actual).as_ref());
        Ok(found)
    }

    /// Selects the stored and the true counts where they differ, grouped by entity, or by entity
    /// and day.
    //
    // WITH true_counts (entity, actual) AS (…)
    // SELECT entity, SUM(stored), SUM(actual)
    // FROM (
    //     SELECT article_id AS entity, SUM(views) AS stored, 0 AS actual FROM article_counters
    //     GROUP BY article_id
    //     UNION ALL
    //     SELECT entity, 0, actual FROM true_counts
    // ) AS compared
    // GROUP BY entity HAVING SUM(stored) <> SUM(actual) ORDER BY entity
    fn sql<'a, DB: CounterBackend>(
        &'a self,
        db: Dialect,
        entities: &'a dyn Entities<DB>,
        has_locks: bool,
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
            // Texts are compared by the counter table's collation, which can differ from the
            // source's.
            is_exact: KeyType::<C>::is_exact(),
        };
        if self.is_by_day {
            compared.columns.push(shape.day());
            compared.names.push(DAY);
        }
        let rows = where_entities(db, shape, entities, &self.days);
        let stored_part = compared.stored_part(C::NAMES, rows);
        let days = self.days.condition_unless_all(DAY);
        let key_types = KeyType::<C>::sql_types();
        let key_types = key_types.iter().map(integer).chain([Some("DATE")]);
        let source_part = compared.source_part(key_types, entities, has_locks, days);

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
        let are_wrong = stored
            .iter()
            .zip(actual)
            .map(|(stored, actual)| sql!("SUM({*stored}) <> SUM({*actual})"));
        let are_wrong = list(" OR ", are_wrong);
        let groups = (!names.is_empty())
            .then(|| sql!(" GROUP BY {&names} HAVING {are_wrong} ORDER BY {&names}"));
        let source = fragment(&self.source);
        let select = db.select();
        sql!(
            "WITH {SOURCE} ({key()}{actual}) AS ({source}) {select}{key()}\
             {sums(stored)}, {sums(actual)} FROM ({stored_part} UNION ALL {source_part}) \
             AS compared{of_both}{groups}"
        )
    }
}

/// What both parts of the query share.
struct Compared<'a> {
    db: Dialect,
    shape: &'a Shape<'static>,
    /// The counter table's columns that counts are grouped by: the entity's, and the day.
    columns: Vec<Name<'static>>,
    /// The names of these columns in the query.
    names: Vec<Name<'static>>,
    /// The names of the stored counts in the query, and of the true ones.
    stored: &'static [Name<'static>],
    actual: &'static [Name<'static>],
    /// Whether keys that are equal in one part are also equal in the other.
    is_exact: bool,
}

impl<'a> Compared<'a> {
    /// Selects the rows of the counter table, with 0 as the true counts. It groups them, because
    /// MySQL and MariaDB write both parts to a temporary table.
    fn stored_part<DB: CounterBackend>(
        &self,
        counters: &'static [Name<'static>],
        rows: Option<Sql<'a, DB>>,
    ) -> Sql<'a, DB> {
        let key = self.columns.iter().zip(&self.names);
        let key = list("", key.map(|(column, name)| sql!("{*column} AS {*name}, ")));
        let counters = counters.iter().map(|name| sql!("SUM({*name})"));
        let counters = aliased(counters, self.stored);
        let no_actual = aliased(["0"; 8], self.actual);
        let columns = &self.columns;
        let groups = (!columns.is_empty()).then(|| sql!(" GROUP BY {columns}"));
        let table = self.shape.table;
        sql!("SELECT {key}{counters}, {no_actual} FROM {table}{rows}{groups}")
    }

    /// Selects the rows of the source, with 0 as the stored counts.
    fn source_part<DB: CounterBackend>(
        &self,
        key_types: impl Iterator<Item = Option<&'static str>>,
        entities: &'a dyn Entities<DB>,
        has_locks: bool,
        days: Option<Sql<'a, DB>>,
    ) -> Sql<'a, DB> {
        let db = self.db;
        let entity = self.shape.entity();
        // If the source selects a bind value, MySQL takes it for a text.
        let key = self.names.iter().zip(key_types);
        let key = key.map(|(name, key_type)| match key_type {
            Some(key_type) if db == Dialect::MySql => sql!("CAST({*name} AS {key_type}), "),
            _ => sql!("{*name}, "),
        });
        let key = list("", key);
        let zeros = vec!["0"; self.actual.len()];
        let actual = self.actual;

        let of_entities = entities.condition(db, &ENTITY[..entity.len()]);
        let mut conditions = vec![of_entities.filter(|_| self.is_exact)];
        if has_locks && db == Dialect::PostgreSql && (!self.is_exact || entity.len() > 1) {
            // The other databases apply a condition on the whole query to each of its parts.
            // PostgreSQL doesn't if the types or collations of the parts differ, and never does for
            // a list of keys of several columns. So this compares with stored keys: every key has a
            // lock row, and its texts have the collation that both parts are compared by.
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
        sql!("SELECT {key}{zeros}, {actual} FROM {SOURCE}{conditions}")
    }
}
