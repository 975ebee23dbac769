//! What the statements of a recount have in their holes: see `templates/recount.sql`.

use diesel::prelude::*;
use diesel::result::Error;
use serde::Serialize;

use super::Recount;
use crate::connection;
use crate::database::POSTGRES;
use crate::template::render_block;
use crate::triggers::correction::{Correction, Drift};
use crate::triggers::counting::Counting;
use crate::triggers::target::Target;

/// Temporary tables: the entities with wrong counts, those of a batch, and their counts.
pub const WRONG: &str = "diesel_counters_wrong";
pub const LOCKED: &str = "diesel_counters_locked";
pub const FOUND: &str = "diesel_counters_found";

/// What the statements of a recount have in their holes.
#[derive(Serialize)]
pub struct Values {
    pub database: &'static str,
    /// All tables that it reads.
    pub tables: Vec<String>,
    /// The table with the counters.
    pub table: String,
    pub key: Vec<String>,
    /// The key, and the day if rows have one of their own.
    pub group: Vec<String>,
    /// The columns of the list of entities.
    pub entity_columns: String,
    /// The only entity, if there is one.
    pub entity: Vec<String>,
    pub number_of_rows: String,
    /// Counts of any size.
    pub zeros: Vec<String>,
    /// The wrong counts of all entities, and of the batch.
    pub drift_of_all: Drift,
    pub drift_of_batch: Drift,
    pub lock: Correction,
    pub correction: Correction,
    /// The conditions of the entities that there are.
    pub exists: Vec<String>,
    /// The condition of the rows that are locked, and of the entities that are done.
    pub is_locked: String,
    pub is_done: String,
    pub locked_key: Vec<String>,
    pub for_update: String,
    /// What is read of wrong counts.
    pub text_columns: Vec<String>,
    /// Temporary tables: the entities with wrong counts, those of a batch, a copy of these, and
    /// their counts.
    pub listed: String,
    pub batch: String,
    pub copy: String,
    pub found: String,
    /// The number of entities in a batch.
    pub size: u64,
}

/// The statement of this name.
pub fn sql(name: &str, values: &Values) -> QueryResult<String> {
    render_block("recount.sql", name, values)
        .map_err(|error| Error::QueryBuilderError(format!("{error:#}").into()))
}

impl Recount {
    pub(super) fn values(&self) -> Values {
        let counting = &self.counting;
        let target = &self.target;
        let database = counting.database;
        let batch = |place| self.batch(place);
        let listed = self.temporary(WRONG);
        let drift = counting.drift_name();
        let group = counting.group(target);
        let key = group[..target.entity.len()].to_vec();
        let names = counting.tables().map(|table| database.table_name(table));
        let mut tables: Vec<_> = names.collect();
        tables.dedup();
        Values {
            database: connection::option(database),
            tables,
            table: database.table_name(&target.table),
            entity_columns: match &*key {
                [] => "1 AS entity".to_owned(),
                key => key.join(", "),
            },
            entity: self.entity.clone().unwrap_or_default(),
            number_of_rows: database.text("COUNT(*)"),
            zeros: zeros(counting, target),
            drift_of_all: counting.drift(target, &self.compared, None),
            drift_of_batch: counting.drift(target, &self.compared, Some(&batch)),
            lock: counting.lock_in_slots(target, &self.merged),
            correction: counting.correction(target, &self.merged),
            exists: counting.exists(
                "parent",
                target,
                &database.columns("locked", &target.entity),
            ),
            is_locked: counting.same_key(target, &drift, "locked"),
            is_done: counting.same_key(target, &listed, "locked"),
            locked_key: database.columns(&drift, &target.entity),
            for_update: match database {
                POSTGRES => format!("FOR NO KEY UPDATE OF {drift}"),
                _ => "FOR UPDATE".to_owned(),
            },
            text_columns: texts(counting, target),
            batch: self.batch(0),
            found: self.temporary(FOUND),
            copy: String::new(),
            size: 0,
            listed,
            group,
            key,
        }
    }
}

/// The key, the day, and the true and the stored count of each counter, as texts. Each has a name
/// of its own, so that the ORDER BY of the query means the columns.
fn texts(counting: &Counting, target: &Target) -> Vec<String> {
    let database = counting.database;
    let key = target.entity.iter().map(|key| database.as_text(key));
    let day = match counting.group(target).get(target.entity.len()) {
        Some(day) => database.text(day),
        None => "'1970-01-01'".to_owned(),
    };
    let counts = target.names.iter().flat_map(|name| {
        let names = [database.quoted(name), counting.stored_name(target, name)];
        names.map(|name| database.text(&name))
    });
    let all = key.chain([day]).chain(counts).enumerate();
    let named = all.map(|(place, text)| format!("{text} AS diesel_counters_{place}"));
    named.collect()
}

/// A column for each true and each stored count, in the order of a drift.
fn zeros(counting: &Counting, target: &Target) -> Vec<String> {
    let stored = |name: &String| counting.stored_name(target, name);
    let names = counting.counter_names(target);
    let all = names.into_iter().chain(target.names.iter().map(stored));
    let zeros = all.map(|name| format!("CAST(0 AS DECIMAL(65)) AS {name}"));
    zeros.collect()
}
