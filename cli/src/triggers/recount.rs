//! The recount of a table that triggers count in: its statements, and how they are run.
//!
//! It finds the entities with wrong counts without a lock. If there are any, a transaction locks them
//! against other corrections, and then one statement reads both their rows and their counts, as of one
//! moment. In a counter table the lock is the entity's row of 1970-01-01 in the slot of merged rows, which
//! increments do not wait for, except on SQLite. In an ordinary column it is the row itself.

use diesel::prelude::*;
use diesel::query_builder::SqlQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_query;
use diesel::sql_types::Text;
use diesel_counters::{Dialect, is_retryable};

use super::counting::Counting;
use super::drift::{Compared, DRIFT};
use super::statement::by;
use super::target::Target;
use crate::database::Joined;

/// The entities that are locked, and their counts: temporary tables.
const LOCKED: &str = "diesel_counters_locked";
const FOUND: &str = "diesel_counters_found";

/// Between the columns of a line.
const UNIT: char = '\u{1f}';

/// The statements of a recount of one table.
#[derive(Debug, Clone)]
pub struct Recount {
    /// The name of the table with the counters.
    pub table: String,
    dialect: Dialect,
    /// Before all others of a transaction.
    guard: Option<String>,
    /// The wrong counts. It locks nothing.
    find: String,
    /// Until the entities are locked.
    lock: Vec<String>,
    /// Locks the rows of an ordinary table.
    lock_rows: Option<String>,
    /// Stores the counts of the locked entities.
    store: String,
    found: String,
    correct: String,
    clean_up: [String; 2],
    counters: Vec<String>,
    key: usize,
}

/// A count that was not that of the rows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Wrong {
    pub counter: String,
    /// The columns of the entity's key. Empty if the table counts for one thing only.
    pub entity: String,
    /// 1970-01-01 if the rows are not counted by a day of their own.
    pub day: String,
    pub stored: i64,
    pub actual: i64,
}

/// A connection that runs statements.
pub trait Lines: Connection {
    fn run(&mut self, statement: &str) -> QueryResult<()>;
    /// The rows of a query of one text.
    fn lines(&mut self, query: &str) -> QueryResult<Vec<String>>;
}

/// A row of [`Lines::lines`].
#[derive(Debug, QueryableByName)]
pub struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

impl<C: Connection> Lines for C
where
    for<'c> SqlQuery: LoadQuery<'c, C, Line> + ExecuteDsl<C>,
{
    fn run(&mut self, statement: &str) -> QueryResult<()> {
        ExecuteDsl::execute(sql_query(statement), self).map(drop)
    }

    fn lines(&mut self, query: &str) -> QueryResult<Vec<String>> {
        let lines = LoadQuery::internal_load(sql_query(query), self)?;
        lines.map(|line| line.map(|line| line.line)).collect()
    }
}

impl Recount {
    /// `merged` is the slot of merged rows.
    pub fn new(counting: &Counting, target: &Target, compared: Compared, merged: &str) -> Self {
        let (database, dialect) = (counting.database, counting.database.0);
        let drift = counting.drift(target, compared);
        let in_schema = match dialect {
            Dialect::PostgreSql => "pg_temp.",
            Dialect::Sqlite => "temp.",
            Dialect::MySql => "",
        };
        let [locked, found] = [LOCKED, FOUND].map(|name| format!("{in_schema}{name}"));
        let group = counting.group(target);
        let key = &group[..target.entity.len()];
        let is_locked = format!(
            "EXISTS (SELECT 1 FROM {locked} AS locked WHERE {})",
            counting.same_key(target, DRIFT, "locked")
        );
        let table = database.table_name(&target.table);
        // No TRUNCATE of PostgreSQL can come from here on. A query that waits for one would read the
        // rows of after it, and the counts of before it.
        let guard = (dialect == Dialect::PostgreSql).then(|| {
            let tables = counting.tables().map(|table| database.table_name(table));
            let mut tables: Vec<_> = tables.collect();
            tables.dedup();
            format!("LOCK TABLE {} IN ACCESS SHARE MODE", tables.join(", "))
        });
        let (begin, for_update) = match dialect {
            Dialect::PostgreSql => (
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
                " FOR NO KEY UPDATE",
            ),
            // A recount that failed can have left them: a rollback does not drop them.
            Dialect::MySql => (
                format!("DROP TEMPORARY TABLE IF EXISTS {LOCKED}, {FOUND}"),
                " FOR UPDATE",
            ),
            // It waits for the write lock, and deletes nothing.
            Dialect::Sqlite => (format!("DELETE FROM {table} WHERE 0"), ""),
        };
        // A server can require a primary key of each table.
        let primary_key = |columns: &[String]| match (dialect, columns) {
            (Dialect::MySql, []) => " (PRIMARY KEY (entity))".to_owned(),
            (Dialect::MySql, _) => format!(" (PRIMARY KEY ({}))", columns.join(", ")),
            _ => String::new(),
        };
        let entities = match key {
            [] => "1 AS entity".to_owned(),
            key => key.join(", "),
        };
        let store_entities = format!(
            "CREATE TEMPORARY TABLE {LOCKED}{} AS SELECT DISTINCT {entities} FROM {drift}",
            primary_key(key),
        );
        let all = match group.is_empty() {
            true => format!("1 AS entity, {DRIFT}.*"),
            false => format!("{DRIFT}.*"),
        };
        let store = format!(
            "CREATE TEMPORARY TABLE {FOUND}{} AS SELECT {all} FROM {drift} WHERE {is_locked}",
            primary_key(&group),
        );
        let is_slotted = target.slots.is_some();
        let lock_in_slots = is_slotted
            .then(|| counting.lock_in_slots(target, &format!("{locked} AS locked"), merged));
        let lock_rows = (!is_slotted).then(|| {
            format!(
                "SELECT {} AS line FROM (SELECT 1 FROM {table} AS {DRIFT} WHERE {is_locked}{}{for_update}) AS locks",
                database.text("COUNT(*)"),
                by("ORDER", key),
            )
        });
        let lines = |from: &str| {
            let (line, order) = (line(counting, target), by("ORDER", &group));
            format!("SELECT {line} AS line FROM {from}{order}")
        };
        let found_drift = format!("{found} AS {DRIFT}");
        let lock = [begin].into_iter().chain(guard.clone());
        Recount {
            table: target.table.to_string(),
            dialect,
            find: lines(&drift),
            lock: lock.chain([store_entities]).chain(lock_in_slots).collect(),
            guard,
            lock_rows,
            store,
            found: lines(&found_drift),
            correct: counting.correct(target, &found_drift, merged),
            clean_up: [found, locked].map(|name| match dialect {
                Dialect::MySql => format!("DROP TEMPORARY TABLE {name}"),
                _ => format!("DROP TABLE {name}"),
            }),
            counters: target.names.clone(),
            key: target.entity.len(),
        }
    }

    /// The counts that are wrong.
    pub fn find<C: Lines>(&self, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        let lines = match &self.guard {
            None => conn.lines(&self.find),
            Some(guard) => conn.transaction(|conn| {
                conn.run(guard)?;
                conn.lines(&self.find)
            }),
        };
        self.wrong(lines?)
    }

    /// Corrects them. Returns those that it has corrected.
    pub fn correct<C: Lines>(&self, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        let mut tries = 0;
        loop {
            // Most tables have no wrong count. This query locks nothing, and writes nothing.
            if self.find(conn)?.is_empty() {
                return Ok(Vec::new());
            }
            if self.dialect == Dialect::MySql {
                conn.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
            }
            tries += 1;
            match conn.transaction(|conn| self.correct_locked(conn)) {
                Err(error) if tries < TRIES && passes(&error) => {}
                corrected => return corrected,
            }
        }
    }

    fn correct_locked<C: Lines>(&self, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        self.lock.iter().try_for_each(|lock| conn.run(lock))?;
        if let Some(lock) = &self.lock_rows {
            conn.lines(lock)?;
        }
        conn.run(&self.store)?;
        let wrong = self.wrong(conn.lines(&self.found)?)?;
        if !wrong.is_empty() {
            conn.run(&self.correct)?;
        }
        self.clean_up.iter().try_for_each(|drop| conn.run(drop))?;
        Ok(wrong)
    }

    fn wrong(&self, lines: Vec<String>) -> QueryResult<Vec<Wrong>> {
        let mut wrong = Vec::new();
        for line in lines {
            let columns: Vec<_> = line.split(UNIT).collect();
            let (key, rest) = columns.split_at(self.key);
            for (counter, counts) in self.counters.iter().zip(rest[1..].chunks(2)) {
                let [actual, stored] = [parsed(counts[0])?, parsed(counts[1])?];
                if actual != stored {
                    wrong.push(Wrong {
                        counter: counter.clone(),
                        entity: key.join(", "),
                        day: rest[0].to_owned(),
                        stored,
                        actual,
                    });
                }
            }
        }
        Ok(wrong)
    }
}

/// How often a table is tried.
const TRIES: usize = 5;

/// Whether the same again can succeed: if another transaction has changed the rows, or deleted an entity
/// between the query that finds its wrong counts and the statement that locks it. The foreign key then
/// refuses the lock.
fn passes(error: &Error) -> bool {
    match error {
        Error::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _) => true,
        error => is_retryable(error),
    }
}

/// The key, the day, and the true and the stored count of each counter, as one text.
fn line(counting: &Counting, target: &Target) -> String {
    let database = counting.database;
    let key = target.entity.iter().map(|key| database.as_text(key));
    let day = match counting.group(target).get(target.entity.len()) {
        Some(day) => database.text(day),
        None => "'1970-01-01'".to_owned(),
    };
    let counts = target.names.iter().flat_map(|name| {
        let names = [database.quoted(name), counting.stored_name(name)];
        names.map(|name| database.text(&name))
    });
    let columns = key.chain([day]).chain(counts);
    match database.0 {
        Dialect::PostgreSql => format!("concat_ws(chr(31), {})", columns.joined(", ")),
        Dialect::MySql => format!(
            "CONCAT_WS(CHAR(31 USING utf8mb4), {})",
            columns.joined(", ")
        ),
        Dialect::Sqlite => columns.joined(" || char(31) || "),
    }
}

fn parsed(text: &str) -> QueryResult<i64> {
    let out_of_range = |_| {
        let message = format!("{text} is out of the range of a counter");
        Error::QueryBuilderError(message.into())
    };
    text.parse().map_err(out_of_range)
}
