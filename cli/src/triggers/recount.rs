//! The recount of a table that triggers count in: its statements, and how they are run.
//!
//! It lists the entities with wrong counts without a lock. Then it takes a batch of them at a time: a
//! transaction locks them against other corrections, and one statement reads both their rows and their
//! counts, as of one moment. In a counter table the lock is the entity's row of 1970-01-01 in the slot of
//! merged rows, which increments do not wait for, except on SQLite. In an ordinary column it is the row
//! itself. A recount that is killed has corrected the batches before.

use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::query_builder::SqlQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_query;
use diesel::sql_types::Text;
use diesel_counters::{Dialect, is_retryable};

use super::counting::Counting;
use super::drift::{Compared, DRIFT};
use super::statement::{by, numbered};
use super::target::Target;
use crate::database::Joined;

/// Temporary tables: the entities with wrong counts, those of a batch, and their counts.
const WRONG: &str = "diesel_counters_wrong";
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
    /// Whether the rows of an entity are found without reading all rows. Otherwise there is one batch.
    is_indexed: bool,
    /// Before all others of a transaction.
    guard: Option<String>,
    /// The wrong counts. It locks nothing.
    find: String,
    /// Lists the entities that have them, and how many that are.
    list: [String; 2],
    number: String,
    begin: Vec<String>,
    /// Takes a batch of the number of entities that follows.
    take: String,
    /// Until the batch is locked.
    lock: Vec<String>,
    /// Locks the rows of an ordinary table.
    lock_rows: Option<String>,
    /// Stores the counts of the batch.
    store: String,
    found: String,
    correct: String,
    clean_up: Vec<String>,
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
        let in_schema = match dialect {
            Dialect::PostgreSql => "pg_temp.",
            Dialect::Sqlite => "temp.",
            Dialect::MySql => "",
        };
        let [listed, found] = [WRONG, FOUND].map(|name| format!("{in_schema}{name}"));
        // MySQL cannot read a temporary table twice in a statement.
        let batch = |place: usize| match dialect {
            Dialect::MySql => numbered(LOCKED, place),
            _ => format!("{in_schema}{LOCKED}"),
        };
        let copies = match dialect {
            Dialect::MySql => 1..target.sources.len() + 1,
            _ => 0..0,
        };
        let drift = counting.drift(target, compared, None);
        let drift_of_batch = counting.drift(target, compared, Some(&batch));
        let group = counting.group(target);
        let key = &group[..target.entity.len()];
        let table = database.table_name(&target.table);
        // No TRUNCATE of PostgreSQL can come from here on. A query that waits for one would read the
        // rows of after it, and the counts of before it.
        let guard = (dialect == Dialect::PostgreSql).then(|| {
            let tables = counting.tables().map(|table| database.table_name(table));
            let mut tables: Vec<_> = tables.collect();
            tables.dedup();
            format!("LOCK TABLE {} IN ACCESS SHARE MODE", tables.join(", "))
        });
        let drop = |table: &String| match dialect {
            Dialect::MySql => format!("DROP TEMPORARY TABLE IF EXISTS {table}"),
            _ => format!("DROP TABLE IF EXISTS {table}"),
        };
        let of_batch = copies.clone().map(batch).chain([batch(0), found.clone()]);
        let drop_batch: Vec<_> = of_batch.map(|table| drop(&table)).collect();
        // A recount that failed can have left them: a rollback of MySQL does not drop them.
        let left_over = drop_batch.iter().filter(|_| dialect == Dialect::MySql);
        let left_over: Vec<_> = left_over.cloned().collect();
        let (begin, for_update) = match dialect {
            Dialect::PostgreSql => (
                Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned()),
                " FOR NO KEY UPDATE OF ",
            ),
            Dialect::MySql => (None, " FOR UPDATE"),
            // It waits for the write lock, and deletes nothing.
            Dialect::Sqlite => (Some(format!("DELETE FROM {table} WHERE 0")), ""),
        };
        // A server can require a primary key of each table.
        let create = |name: &str, columns: &[String], query: &str| {
            let primary_key = match (dialect, columns) {
                (Dialect::MySql, []) => " (PRIMARY KEY (entity))".to_owned(),
                (Dialect::MySql, _) => format!(" (PRIMARY KEY ({}))", columns.join(", ")),
                _ => String::new(),
            };
            format!("CREATE TEMPORARY TABLE {name}{primary_key} AS {query}")
        };
        let entities = match key {
            [] => "1 AS entity".to_owned(),
            key => key.join(", "),
        };
        let all = match group.is_empty() {
            true => format!("1 AS entity, {DRIFT}.*"),
            false => format!("{DRIFT}.*"),
        };
        let copies =
            copies.map(|place| create(&batch(place), key, &format!("SELECT * FROM {}", batch(0))));
        let locked = format!("{} AS locked", batch(0));
        let is_slotted = target.slots.is_some();
        let lock = is_slotted.then(|| counting.lock_in_slots(target, &locked, merged));
        let same_key = counting.same_key(target, DRIFT, "locked");
        let lock_rows = (!is_slotted && dialect != Dialect::Sqlite).then(|| {
            let of = if dialect == Dialect::PostgreSql { DRIFT } else { "" };
            let order = by("ORDER", &database.columns(DRIFT, &target.entity));
            format!(
                "SELECT {} AS line FROM (SELECT 1 FROM {table} AS {DRIFT} JOIN {locked} ON {same_key}\
                 {order}{for_update}{of}) AS locks",
                database.text("COUNT(*)"),
            )
        });
        let lines = |from: &str| {
            let (line, order) = (line(counting, target), by("ORDER", &group));
            format!("SELECT {line} AS line FROM {from}{order}")
        };
        let found_drift = format!("{found} AS {DRIFT}");
        let is_locked = format!(
            "EXISTS (SELECT 1 FROM {locked} WHERE {})",
            counting.same_key(target, &listed, "locked")
        );
        let is_indexed = |columns: Vec<&str>| {
            let mut indexes = counting.rows.indexes.iter();
            indexes.any(|index| columns.contains(&&*index.columns[0]))
        };
        let sources = target.sources.iter();
        let mut sources =
            sources.map(|source| source.entity.iter().map(|column| &*column.name).collect());
        Recount {
            table: target.table.to_string(),
            dialect,
            is_indexed: sources.all(is_indexed),
            find: lines(&drift),
            list: [
                drop(&listed),
                create(
                    &listed,
                    key,
                    &format!("SELECT DISTINCT {entities} FROM {drift}"),
                ),
            ],
            number: format!("SELECT {} AS line FROM {listed}", database.text("COUNT(*)")),
            begin: begin
                .into_iter()
                .chain(guard.clone())
                .chain(left_over)
                .collect(),
            guard,
            take: create(
                &batch(0),
                key,
                &format!("SELECT * FROM {listed}{} LIMIT ", by("ORDER", key)),
            ),
            lock: copies.chain(lock).collect(),
            lock_rows,
            store: create(
                &found,
                &group,
                &format!("SELECT {all} FROM {drift_of_batch}"),
            ),
            found: lines(&found_drift),
            correct: counting.correct(target, &found_drift, merged),
            clean_up: [format!("DELETE FROM {listed} WHERE {is_locked}")]
                .into_iter()
                .chain(drop_batch)
                .collect(),
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

    /// Corrects them. Returns those that it has corrected. Calls `progress` with the number of entities
    /// that are done, and that of all.
    pub fn correct<C: Lines>(
        &self,
        conn: &mut C,
        mut progress: impl FnMut(u64, u64),
    ) -> QueryResult<Vec<Wrong>> {
        let (mut wrong, mut tries) = (Vec::new(), 0);
        loop {
            tries += 1;
            match self.correct_all(conn, &mut wrong, &mut progress) {
                Err(error) if tries < TRIES && passes(&error) => {}
                corrected => return corrected.map(|()| wrong),
            }
        }
    }

    fn correct_all<C: Lines>(
        &self,
        conn: &mut C,
        wrong: &mut Vec<Wrong>,
        progress: &mut impl FnMut(u64, u64),
    ) -> QueryResult<()> {
        let all = self.transaction(conn, |conn| {
            let list = self.guard.iter().chain(&self.list);
            list.into_iter().try_for_each(|list| conn.run(list))?;
            let number = conn.lines(&self.number)?;
            number
                .iter()
                .map(|number| parsed(number))
                .sum::<QueryResult<i64>>()
        })?;
        let (all, mut done) = (all as u64, 0);
        let mut size = if self.is_indexed { FIRST_BATCH } else { all };
        while done < all {
            let began = Instant::now();
            wrong.extend(self.transaction(conn, |conn| self.correct_batch(size, conn))?);
            done = all.min(done + size);
            progress(done, all);
            match began.elapsed() {
                short if short < SHORT => size *= 2,
                long if long > LONG => size = size.div_ceil(2),
                _ => {}
            }
        }
        Ok(())
    }

    fn transaction<C: Lines, T>(
        &self,
        conn: &mut C,
        f: impl FnOnce(&mut C) -> QueryResult<T>,
    ) -> QueryResult<T> {
        if self.dialect == Dialect::MySql {
            conn.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        }
        conn.transaction(f)
    }

    fn correct_batch<C: Lines>(&self, size: u64, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        let take = format!("{}{size}", self.take);
        let lock = self.begin.iter().chain([&take]).chain(&self.lock);
        lock.into_iter().try_for_each(|lock| conn.run(lock))?;
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

/// The number of entities in the first batch. It is doubled if the batch is short, and halved if it is long.
const FIRST_BATCH: u64 = 32;
const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_millis(400);

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
