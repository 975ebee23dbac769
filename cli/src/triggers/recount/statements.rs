//! The recount of a table, and its statements: the values for the holes of `templates/recount.sql`.

use diesel::prelude::*;
use diesel::result::Error;
use serde::Serialize;

use crate::connection;
use crate::database::{MYSQL, POSTGRES, SQLITE};
use crate::template::render_block;
use crate::triggers::correction::{Correction, Drift, Which};
use crate::triggers::counting::Counting;
use crate::triggers::merged::FoldedCounts;
use crate::triggers::statement::numbered;
use crate::triggers::target::Target;
use crate::triggers::trigger::Trigger;

/// Temporary tables: the entities with wrong counts, the entities of a batch, and their counts.
pub const WRONG: &str = "diesel_counters_wrong";
pub const LOCKED: &str = "diesel_counters_locked";
pub const FOUND: &str = "diesel_counters_found";

/// The values for the statements of a recount.
#[derive(Serialize)]
pub struct Values {
    pub database: &'static str,
    /// All tables that it reads.
    pub tables: Vec<String>,
    /// The table with the counters.
    pub table: String,
    pub key: Vec<String>,
    /// The key, and the day if rows have their own.
    pub group: Vec<String>,
    /// The columns of the list of entities.
    pub entity_columns: String,
    /// The key of the only entity, if there is one.
    pub entity: Vec<String>,
    pub number_of_rows: String,
    /// A zero per column that holds a count, of a type that has room for any count.
    pub zeros: Vec<String>,
    /// The queries for wrong counts, of all entities and of the batch.
    pub all_drift: Drift,
    pub batch_drift: Drift,
    pub lock: Correction,
    pub correction: Correction,
    /// Conditions that the entities exist.
    pub exists: Vec<String>,
    /// The condition for the rows that are locked, and for the entities that are done.
    pub is_locked: String,
    pub is_done: String,
    pub locked_key: Vec<String>,
    pub for_update: String,
    /// The columns to read from wrong counts.
    pub text_columns: Vec<String>,
    /// Temporary tables: the entities with wrong counts, the entities of a batch, a copy of these,
    /// and their counts.
    pub listed: String,
    pub batch: String,
    pub copy: String,
    pub found: String,
    /// The number of entities in a batch.
    pub size: u64,
}

/// Returns the statement of this name, a block of the template `recount.sql`.
pub fn sql(name: &str, values: &Values) -> QueryResult<String> {
    render_block("recount.sql", name, values)
        .map_err(|error| Error::QueryBuilderError(format!("{error:#}").into()))
}

/// The recount of one table.
pub struct Recount {
    /// The name of the table with the counters.
    pub table: String,
    pub(crate) counting: Counting,
    /// The triggers that the definition should have.
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) target: Target,
    pub(crate) which: Which,
    pub(crate) merged: FoldedCounts,
    /// The only entity to recount: a literal for every column of the key.
    pub(crate) entity: Option<Vec<String>>,
}

impl Recount {
    /// Returns the statement of this name, a block of the template `recount.sql`.
    pub(super) fn sql(&self, name: &str) -> QueryResult<String> {
        sql(name, &self.values())
    }

    /// Returns the values for the statements.
    pub(super) fn values(&self) -> Values {
        let counting = &self.counting;
        let target = &self.target;
        let database = counting.database;
        let batch = |uses_before| self.batch(uses_before);
        let not_yet_used = 0;
        let listed = self.temporary(WRONG);
        let drift = counting.drift_name();
        let group = counting.group(target);
        let key = group[..target.entity.len()].to_vec();
        let names = counting.tables().map(|table| database.table_name(table));
        let mut tables: Vec<_> = names.collect();
        tables.dedup();
        let all_entities = None;
        let all_drift = counting.drift(target, self.which, self.merged, all_entities);
        let has_merged = all_drift.merged.is_some();
        Values {
            database: connection::backend_name(database),
            tables,
            table: database.table_name(&target.table),
            entity_columns: match &*key {
                [] => "1 AS entity".to_owned(),
                key => key.join(", "),
            },
            entity: self.entity.clone().unwrap_or_default(),
            number_of_rows: database.text("COUNT(*)"),
            zeros: zeros(counting, target, self.which, has_merged),
            batch_drift: counting.drift(target, self.which, self.merged, Some(&batch)),
            lock: counting.lock_in_slots(target),
            correction: counting.correction(target, self.which),
            exists: counting.exists(target, &database.columns("locked", &target.entity)),
            is_locked: counting.same_key(target, &drift, "locked"),
            is_done: counting.same_key(target, &listed, "locked"),
            locked_key: database.columns(&drift, &target.entity),
            for_update: match database {
                POSTGRES => format!("FOR NO KEY UPDATE OF {drift}"),
                _ => "FOR UPDATE".to_owned(),
            },
            text_columns: text_columns(counting, target, self.which, has_merged),
            all_drift,
            batch: self.batch(not_yet_used),
            found: self.temporary(FOUND),
            // Only the statements that take a batch need these, and set them themselves.
            copy: String::new(),
            size: 0,
            listed,
            group,
            key,
        }
    }

    /// Writes a temporary table with its schema, so that it can't be mistaken for another table:
    /// `pg_temp.diesel_counters_wrong`. MySQL needs no schema, because it looks for temporary
    /// tables first.
    pub(super) fn temporary(&self, name: &str) -> String {
        match self.counting.database {
            POSTGRES => format!("pg_temp.{name}"),
            MYSQL => name.to_owned(),
            SQLITE => format!("temp.{name}"),
        }
    }

    /// The statement that drops a temporary table.
    pub(super) fn drop_table(&self, table: &str) -> String {
        match self.counting.database {
            MYSQL => format!("DROP TEMPORARY TABLE IF EXISTS {table}"),
            _ => format!("DROP TABLE IF EXISTS {table}"),
        }
    }

    /// Returns the batch's table for a query that comes after this number of others in its
    /// statement: the table itself, or a copy.
    fn batch(&self, uses_before: usize) -> String {
        numbered(
            &self.temporary(LOCKED),
            uses_before.min(self.number_of_copies()),
        )
    }

    /// Returns the copies of the batch's table.
    pub(super) fn batch_copies(&self) -> Vec<String> {
        let copies = 1..=self.number_of_copies();
        copies.map(|uses_before| self.batch(uses_before)).collect()
    }

    /// Returns how many copies of the batch's table a statement needs. MySQL can't read a temporary
    /// table twice in one statement.
    fn number_of_copies(&self) -> usize {
        match self.counting.database {
            MYSQL => self.target.sources.len(),
            _ => 0,
        }
    }
}

/// Returns, as texts: the key, the day, the number of days that are compared as one, and for every
/// counter the true count, the stored count and what to add. Each has its own name, so that the
/// query's ORDER BY means the columns: `CAST(likes AS TEXT) AS diesel_counters_3`.
fn text_columns(
    counting: &Counting,
    target: &Target,
    which: Which,
    has_merged: bool,
) -> Vec<String> {
    let database = counting.database;
    let key = target.entity.iter().map(|key| database.as_text(key));
    let day = match counting.group(target).get(target.entity.len()) {
        Some(day) => database.text(day),
        None => "'1970-01-01'".to_owned(),
    };
    let days = if has_merged {
        database.text(&counting.days_name())
    } else {
        "'1'".to_owned()
    };
    let counts = target.names.iter().enumerate().flat_map(|(index, name)| {
        let stored = counting.stored_name(target, name);
        let missing = counting.missing(target, which, index);
        [database.quoted(name), stored, missing].map(|count| database.text(&count))
    });
    let columns = key.chain([day, days]).chain(counts).enumerate();
    let named = columns.map(|(index, text)| format!("{text} AS diesel_counters_{index}"));
    named.collect()
}

/// Returns a zero for every count of the query for wrong counts, in its order, with the column's
/// name. Their type has room for any count.
fn zeros(counting: &Counting, target: &Target, which: Which, has_merged: bool) -> Vec<String> {
    let mut names = counting.counter_names(target);
    let stored = target.names.iter();
    names.extend(stored.map(|name| counting.stored_name(target, name)));
    if counting.compares_totals(target, which) {
        names.extend((0..target.names.len()).map(|index| counting.lacks_name(target, index)));
    }
    if has_merged {
        names.push(counting.days_name());
    }
    let zeros = names.iter();
    let zeros = zeros.map(|name| format!("CAST(0 AS DECIMAL(65)) AS {name}"));
    zeros.collect()
}
