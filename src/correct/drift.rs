//! The query that compares stored counts with true counts.

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::query_builder::QueryFragment;

use crate::correct::recount::{Drift, Recount};
use crate::correct::where_entities;
use crate::day::Period;
use crate::error::refuse;
use crate::key::Entities;
use crate::key::mysql_integer;
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
    /// source counts by day. `has_locks` says whether the entities are locked.
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
        let is_by_day = self.is_by_day;
        // Otherwise, this would compare counts of different days.
        if !self.days.is_all() && (!is_by_day || C::Table::PERIOD == Period::Total) {
            let error = "a recount `between` days requires a source that selects days, and a table \
                that does not count in total";
            return refuse(error);
        }
        // A row has the key's columns, the day if there is one, the stored counts and the true ones.
        let day_column = KeyType::<C>::COLUMNS;
        let first_stored = day_column + usize::from(is_by_day);
        let first_actual = first_stored + C::NAMES.len();
        let mut found = load(
            conn,
            |db| self.sql(db, entities, has_locks),
            |row| {
                let entity = K::load(row)?;
                let day = is_by_day.then(|| Conn::Backend::day(row, day_column));
                let stored = amounts::<C, Conn::Backend>(row, first_stored)?;
                let actual = amounts::<C, Conn::Backend>(row, first_actual)?;
                Ok(Drift {
                    entity,
                    day: day.transpose()?,
                    stored: C::value(stored),
                    actual: C::value(actual),
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
        let compared = self.compared(db);
        let rows = where_entities(db, shape, entities, &self.days);
        let stored_part = compared.stored_part(C::NAMES, rows);
        let is_in_days = self.days.condition_unless_all(DAY);
        let source_part = compared.source_part(entities, has_locks, is_in_days);
        // If keys are exact, `source_part` has this condition.
        let is_chosen = entities.condition(db, &ENTITY[..shape.entity().len()]);
        let where_chosen = where_all([is_chosen.filter(|_| !compared.is_exact)]);

        let Compared {
            names,
            stored,
            actual,
            ..
        } = compared;
        let source = fragment(&self.source);
        let source_columns = [&names[..], actual].concat();
        let key = names.iter().map(|name| sql!("{*name}"));
        let sums = stored.iter().chain(actual);
        let sums = sums.map(|counts| sql!("{db.sum(*counts)}"));
        let selected = list(", ", key.chain(sums));
        let pairs = stored.iter().zip(actual);
        let is_wrong = pairs.map(|(stored, actual)| sql!("SUM({*stored}) <> SUM({*actual})"));
        let is_wrong = list(" OR ", is_wrong);
        let groups = (!names.is_empty())
            .then(|| sql!(" GROUP BY {&names} HAVING {is_wrong} ORDER BY {&names}"));
        let select = db.select();
        sql!(
            "WITH {SOURCE} ({&source_columns}) AS ({source}) {select}{selected} \
             FROM ({stored_part} UNION ALL {source_part}) AS compared{where_chosen}{groups}"
        )
    }

    /// Returns the names and the types that both parts of the query use.
    fn compared(&self, db: Dialect) -> Compared<'static> {
        let shape = C::Table::shape();
        let mut columns = shape.entity().to_vec();
        let mut names = ENTITY[..columns.len()].to_vec();
        let key_types = KeyType::<C>::sql_types();
        let mut mysql_types = Vec::from_iter(key_types.iter().map(mysql_integer));
        if self.is_by_day {
            columns.push(shape.day());
            names.push(DAY);
            mysql_types.push(Some("DATE"));
        }
        let counters = C::NAMES.len();
        Compared {
            db,
            shape,
            columns,
            names,
            mysql_types,
            stored: &STORED[..counters],
            actual: &ACTUAL[..counters],
            // Texts are compared by the counter table's collation, which can differ from the
            // source's.
            is_exact: KeyType::<C>::is_exact(),
        }
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
    /// The types that MySQL casts these columns to, if it has to.
    mysql_types: Vec<Option<&'static str>>,
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
        let columns = &self.columns;
        let key = columns.iter().map(|column| sql!("{*column}"));
        let sums = counters.iter().map(|name| sql!("SUM({*name})"));
        let zeros = self.actual.iter().map(|_| sql!("0"));
        let names = [&self.names[..], self.stored, self.actual].concat();
        let selected = aliased(key.chain(sums).chain(zeros), &names);
        let groups = (!columns.is_empty()).then(|| sql!(" GROUP BY {columns}"));
        let table = self.shape.table;
        sql!("SELECT {selected} FROM {table}{rows}{groups}")
    }

    /// Selects the rows of the source, with 0 as the stored counts.
    fn source_part<DB: CounterBackend>(
        &self,
        entities: &'a dyn Entities<DB>,
        has_locks: bool,
        is_in_days: Option<Sql<'a, DB>>,
    ) -> Sql<'a, DB> {
        let db = self.db;
        let entity = self.shape.entity();
        // If the source selects a bind value, MySQL takes it for a text.
        let key = self.names.iter().zip(&self.mysql_types);
        let key = key.map(|(name, mysql_type)| match mysql_type {
            Some(mysql_type) if db == Dialect::MySql => sql!("CAST({*name} AS {*mysql_type})"),
            _ => sql!("{*name}"),
        });
        let zeros = self.stored.iter().map(|_| sql!("0"));
        let counts = self.actual.iter().map(|name| sql!("{*name}"));
        let selected = list(", ", key.chain(zeros).chain(counts));

        let is_chosen = entities.condition(db, &ENTITY[..entity.len()]);
        let mut conditions = vec![is_chosen.filter(|_| self.is_exact)];
        // The other databases apply a condition on the whole query to each of its parts. PostgreSQL
        // doesn't if the types or collations of the parts differ, and never does for a list of keys
        // of several columns.
        let is_applied_to_parts = self.is_exact && entity.len() <= 1;
        if has_locks && db == Dialect::PostgreSql && !is_applied_to_parts {
            conditions.extend(self.are_stored(entities).into_iter().map(Some));
        }
        conditions.push(is_in_days);
        let conditions = where_all(conditions);
        sql!("SELECT {selected} FROM {SOURCE}{conditions}")
    }

    /// A condition for each column of the key: its value is in one of the stored keys. Every locked
    /// entity has a stored key, and its texts have the collation that both parts are compared by.
    fn are_stored<DB: CounterBackend>(&self, entities: &'a dyn Entities<DB>) -> Vec<Sql<'a, DB>> {
        let entity = self.shape.entity();
        let table = self.shape.table;
        let pairs = entity.iter().zip(&self.names);
        let conditions = pairs.map(|(column, name)| {
            let rows = where_all([entities.condition(self.db, entity)]);
            sql!("{*name} = ANY(ARRAY(SELECT {*column} FROM {table}{rows}))")
        });
        conditions.collect()
    }
}
