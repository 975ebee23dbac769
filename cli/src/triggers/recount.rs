//! The recount of a table that triggers count in: its statements, and how they are run.
//!
//! It lists the entities with wrong counts without a lock. Then it takes a batch of them at a time: a
//! transaction locks them against other corrections, and one statement reads both their rows and their
//! counts, as of one moment. In a counter table the lock is the entity's row of 1970-01-01 in the slot of
//! merged rows, which increments do not wait for, except on SQLite. In an ordinary column it is the row
//! itself. A recount that is killed has corrected the batches before.

use std::fmt;
use std::time::{Duration, Instant};

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::prelude::*;
use diesel::query_builder::SqlQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::row::{Field, NamedRow, Row};
use diesel::sql_query;
use diesel::sql_types::{Nullable, Text};
use diesel_counters::{Dialect, is_retryable, retry_if};

use super::counting::Counting;
use super::drift::Compared;
use super::statement::{by, numbered};
use super::target::Target;
use crate::catalogue::Index;
use crate::database::{Joined, MYSQL, POSTGRES};
use crate::output::thousands;

/// Temporary tables: the entities with wrong counts, those of a batch, and their counts.
const WRONG: &str = "diesel_counters_wrong";
const LOCKED: &str = "diesel_counters_locked";
const FOUND: &str = "diesel_counters_found";

/// The recount of one table.
pub struct Recount {
    /// The name of the table with the counters.
    pub table: String,
    pub(crate) counting: Counting,
    pub(crate) target: Target,
    pub(crate) compared: Compared,
    /// The slot of merged rows.
    pub(crate) merged: String,
}

/// A count that was not that of the rows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Wrong {
    /// With its table.
    pub counter: String,
    /// The columns of the entity's key. Empty if the table counts for one thing only.
    pub entity: String,
    /// 1970-01-01 if the rows are not counted by a day of their own.
    pub day: String,
    pub stored: i64,
    pub actual: i64,
}

/// `article_counters.likes of 7 on 2026-01-31: stored 102, rows 100`
impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.counter)?;
        if !self.entity.is_empty() {
            write!(f, " of {}", self.entity)?;
        }
        if self.day != "1970-01-01" {
            write!(f, " on {}", self.day)?;
        }
        let [stored, actual] = [self.stored, self.actual].map(thousands);
        write!(f, ": stored {stored}, rows {actual}")
    }
}

/// A connection that runs statements.
pub trait Lines: Connection {
    fn run(&mut self, statement: &str) -> QueryResult<()>;
    /// The rows of a query whose columns are texts.
    fn lines(&mut self, query: &str) -> QueryResult<Vec<Line>>;
}

impl<C: Connection> Lines for C
where
    SqlQuery: ExecuteDsl<C>,
    for<'c> SqlQuery: LoadQuery<'c, C, Line>,
{
    fn run(&mut self, statement: &str) -> QueryResult<()> {
        ExecuteDsl::execute(sql_query(statement), self).map(drop)
    }

    fn lines(&mut self, query: &str) -> QueryResult<Vec<Line>> {
        LoadQuery::internal_load(sql_query(query), self)?.collect()
    }
}

/// The texts of a row, of any number. A key can be any text, so nothing can stand between two of them.
#[derive(Debug)]
pub struct Line(Vec<Option<String>>);

impl<DB: Backend> QueryableByName<DB> for Line
where
    String: FromSql<Text, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let texts = (0..row.field_count()).map(|place| {
            let field = Row::get(row, place).ok_or("a row has too few columns")?;
            FromSql::<Nullable<Text>, DB>::from_nullable_sql(field.value())
        });
        texts.collect::<deserialize::Result<_>>().map(Line)
    }
}

impl Recount {
    /// The counts that are wrong. It locks nothing.
    pub fn find<C: Lines>(&self, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        conn.transaction(|conn| {
            self.guard(conn)?;
            self.wrong(&self.drift(None), conn)
        })
    }

    /// Corrects them. Returns those that it has corrected. Calls `progress` with the number of entities
    /// that are done, and that of all.
    pub fn correct<C: Lines>(
        &self,
        conn: &mut C,
        mut progress: impl FnMut(u64, u64),
    ) -> QueryResult<Vec<Wrong>> {
        let all = self.transaction(conn, |conn| self.list(conn))?;
        let (mut size, mut done) = (if self.is_indexed() { FIRST_BATCH } else { all }, 0);
        let (mut wrong, mut last) = (Vec::new(), Duration::MAX);
        while done < all {
            let began = Instant::now();
            wrong.extend(self.transaction(conn, |conn| self.correct_batch(size, conn))?);
            done = all.min(done + size);
            progress(done, all);
            let seconds = began.elapsed();
            if seconds < SHORT {
                size *= 2;
            } else if seconds > LONG {
                // If half of it takes as long, each batch reads all rows.
                let reads_all = last != Duration::MAX && seconds > last * 3 / 4;
                size = if reads_all { all } else { size.div_ceil(2) };
                last = seconds;
            }
        }
        Ok(wrong)
    }

    /// Runs a transaction, and again if it conflicts with others.
    fn transaction<C: Lines, T>(
        &self,
        conn: &mut C,
        f: impl Fn(&mut C) -> QueryResult<T>,
    ) -> QueryResult<T> {
        retry_if(passes).run(conn, |conn| {
            if self.counting.database == MYSQL {
                conn.run(READ_COMMITTED)?;
            }
            conn.transaction(&f)
        })
    }

    /// Lists the entities with wrong counts, and returns how many there are.
    fn list<C: Lines>(&self, conn: &mut C) -> QueryResult<u64> {
        self.guard(conn)?;
        let (listed, group) = (self.temporary(WRONG), self.counting.group(&self.target));
        let key = &group[..self.target.entity.len()];
        conn.run(&self.drop(&listed))?;
        let entities = one_if_none(key, "1 AS entity");
        let entities = format!("DISTINCT {entities} FROM {}", self.drift(None));
        conn.run(&self.create(&listed, key, &entities))?;
        let number = self.counting.database.text("COUNT(*)");
        let number = conn.lines(&format!("SELECT {number} AS entities FROM {listed}"))?;
        let number = number.iter().flat_map(|line| &line.0);
        Ok(parsed(number.flatten().next())? as u64)
    }

    /// Corrects this number of entities.
    fn correct_batch<C: Lines>(&self, size: u64, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        let (counting, target) = (&self.counting, &self.target);
        let [listed, batch, found] = [WRONG, LOCKED, FOUND].map(|name| self.temporary(name));
        let group = counting.group(target);
        let key = &group[..target.entity.len()];
        let table = counting.database.table_name(&target.table);
        match counting.database.0 {
            Dialect::PostgreSql => conn.run(READ_COMMITTED).and_then(|()| self.guard(conn))?,
            // A recount that failed can have left them: a rollback does not drop them.
            Dialect::MySql => self.drop_batch(conn)?,
            // It waits for the write lock, and deletes nothing.
            Dialect::Sqlite => conn.run(&format!("DELETE FROM {table} WHERE 0"))?,
        }
        let first = format!("* FROM {listed}{} LIMIT {size}", by("ORDER", key));
        conn.run(&self.create(&batch, key, &first))?;
        for copy in (1..=self.copies()).map(|place| self.batch(place)) {
            conn.run(&self.create(&copy, key, &format!("* FROM {batch}")))?;
        }
        self.lock(&format!("{batch} AS locked"), conn)?;
        let no_key = group.is_empty();
        let one = if no_key { "1 AS entity, " } else { "" };
        let drift = self.drift(Some(&|place| self.batch(place)));
        let drift_name = counting.drift_name();
        conn.run(&self.create(&found, &group, &format!("{one}{drift_name}.* FROM {drift}")))?;
        let drift = format!("{found} AS {drift_name}");
        let wrong = self.wrong(&drift, conn)?;
        if !wrong.is_empty() {
            conn.run(&counting.correct(target, &drift, &self.merged))?;
            self.compare_again(conn)?;
        }
        let is_done = counting.same_key(target, &listed, "locked");
        let is_done = format!("EXISTS (SELECT 1 FROM {batch} AS locked WHERE {is_done})");
        conn.run(&format!("DELETE FROM {listed} WHERE {is_done}"))?;
        self.drop_batch(conn)?;
        Ok(wrong)
    }

    /// Fails if a count of the batch is still wrong. A trigger, a rule or a policy can skip or change what was
    /// written, and the database reports success.
    fn compare_again<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        let drift = self.drift(Some(&|place| self.batch(place)));
        let Some(wrong) = self.wrong(&drift, conn)?.into_iter().next() else {
            return Ok(());
        };
        let message = format!(
            "{wrong}, and a correction did not change that. A trigger, a rule or a policy of {0} skips or changes \
             what is written: see `diesel-counters check`",
            self.table
        );
        Err(Error::QueryBuilderError(message.into()))
    }

    /// No TRUNCATE of PostgreSQL can come from here on. A query that waits for one would read the rows of
    /// after it, and the counts of before it.
    fn guard<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        if self.counting.database != POSTGRES {
            return Ok(());
        }
        let tables = self.counting.tables();
        let mut tables: Vec<_> = tables.map(|table| POSTGRES.table_name(table)).collect();
        tables.dedup();
        let tables = tables.join(", ");
        conn.run(&format!("LOCK TABLE {tables} IN ACCESS SHARE MODE"))
    }

    fn lock<C: Lines>(&self, locked: &str, conn: &mut C) -> QueryResult<()> {
        let (counting, target, database) = (&self.counting, &self.target, self.counting.database);
        if target.slots.is_some() {
            return conn.run(&counting.lock_in_slots(target, locked, &self.merged));
        }
        let drift = counting.drift_name();
        let for_update = match database.0 {
            Dialect::PostgreSql => format!("FOR NO KEY UPDATE OF {drift}"),
            Dialect::MySql => "FOR UPDATE".to_owned(),
            Dialect::Sqlite => return Ok(()),
        };
        let table = database.table_name(&target.table);
        let order = by("ORDER", &database.columns(&drift, &target.entity));
        let on = counting.same_key(target, &drift, "locked");
        let rows = format!("FROM {table} AS {drift} JOIN {locked} ON {on}{order} {for_update}");
        let number = format!("SELECT {} AS entities", database.text("COUNT(*)"));
        conn.lines(&format!("{number} FROM (SELECT 1 {rows}) AS locks"))
            .map(drop)
    }

    fn drift(&self, batch: Option<&dyn Fn(usize) -> String>) -> String {
        self.counting.drift(&self.target, self.compared, batch)
    }

    /// Whether the rows of an entity are found without reading all rows. Otherwise there is one batch.
    fn is_indexed(&self) -> bool {
        self.target.sources.iter().all(|source| {
            let is_first =
                |index: &Index| source.entity.iter().any(|one| one.name == index.columns[0]);
            self.counting.rows.indexes.iter().any(is_first)
        })
    }

    fn temporary(&self, name: &str) -> String {
        match self.counting.database.0 {
            Dialect::PostgreSql => format!("pg_temp.{name}"),
            Dialect::MySql => name.to_owned(),
            Dialect::Sqlite => format!("temp.{name}"),
        }
    }

    /// Creates a temporary table with this key. A server of MySQL can require one.
    fn create(&self, table: &str, key: &[String], select: &str) -> String {
        let key = match self.counting.database {
            MYSQL => format!(" (PRIMARY KEY ({}))", one_if_none(key, "entity")),
            _ => String::new(),
        };
        format!("CREATE TEMPORARY TABLE {table}{key} AS SELECT {select}")
    }

    fn drop(&self, table: &str) -> String {
        match self.counting.database {
            MYSQL => format!("DROP TEMPORARY TABLE IF EXISTS {table}"),
            _ => format!("DROP TABLE IF EXISTS {table}"),
        }
    }

    fn drop_batch<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        let copies = (1..=self.copies()).map(|place| self.batch(place));
        let mut tables = copies.chain([LOCKED, FOUND].map(|name| self.temporary(name)));
        tables.try_for_each(|table| conn.run(&self.drop(&table)))
    }

    /// The table of the batch for each of its uses.
    fn batch(&self, place: usize) -> String {
        numbered(&self.temporary(LOCKED), place.min(self.copies()))
    }

    /// MySQL cannot read a temporary table twice in a statement.
    fn copies(&self) -> usize {
        match self.counting.database {
            MYSQL => self.target.sources.len(),
            _ => 0,
        }
    }

    /// The wrong counts of this query or table.
    fn wrong<C: Lines>(&self, drift: &str, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        let texts = texts(&self.counting, &self.target).join(", ");
        let order = by("ORDER", &self.counting.group(&self.target));
        let lines = conn.lines(&format!("SELECT {texts} FROM {drift}{order}"))?;
        let mut wrong = Vec::new();
        for Line(texts) in lines {
            let (key, rest) = texts.split_at(self.target.entity.len());
            // Only SQLite lets a key be NULL.
            let key = key.iter().map(|text| text.as_deref().unwrap_or("NULL"));
            let entity = key.joined(", ");
            let (day, counts) = rest.split_at(1);
            for (counter, counts) in self.target.names.iter().zip(counts.chunks(2)) {
                let actual = parsed(counts[0].as_ref())?;
                let stored = parsed(counts[1].as_ref())?;
                if actual != stored {
                    wrong.push(Wrong {
                        counter: format!("{}.{counter}", self.table),
                        entity: entity.clone(),
                        day: day[0].clone().unwrap_or_default(),
                        stored,
                        actual,
                    });
                }
            }
        }
        Ok(wrong)
    }
}

/// The number of entities in the first batch. It is doubled if the batch is short, and halved if it is long.
const FIRST_BATCH: u64 = 32;
const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_millis(400);

/// Whether the same again can succeed: if another transaction has changed the rows, or deletes an entity
/// while it is locked. The foreign key then refuses the lock.
fn passes(error: &Error) -> bool {
    match error {
        Error::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _) => true,
        error => is_retryable(error),
    }
}

const READ_COMMITTED: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// These columns, or another one if there are none.
fn one_if_none(columns: &[String], one: &str) -> String {
    match columns {
        [] => one.to_owned(),
        columns => columns.join(", "),
    }
}

/// The key, the day, and the true and the stored count of each counter, as texts. Each has a name of its own,
/// so that the ORDER BY of the query means the columns.
fn texts(counting: &Counting, target: &Target) -> Vec<String> {
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
    let all = key.chain([day]).chain(counts).enumerate();
    let named = all.map(|(place, text)| format!("{text} AS diesel_counters_{place}"));
    named.collect()
}

fn parsed(text: Option<&String>) -> QueryResult<i64> {
    let text = text.map_or("NULL", String::as_str);
    let out_of_range = |_| {
        let message = format!("{text} is out of the range of a counter");
        Error::QueryBuilderError(message.into())
    };
    text.parse().map_err(out_of_range)
}
