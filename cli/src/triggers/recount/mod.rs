//! The recount of a table that triggers count in, and how its statements run.
//!
//! First it lists the entities with wrong counts, without a lock. Then it takes them in batches.
//! For every batch, a transaction locks the entities against other corrections, and one statement
//! reads their rows and their counts at the same moment.
//!
//! In a counter table, it locks the entity's row of 1970-01-01 in the slot of merged rows.
//! Increments don't wait for that row, except on SQLite. In an ordinary column, it locks the row
//! itself.
//!
//! If a recount is killed, the batches before that are corrected.

mod lines;
mod statements;

use std::fmt;
use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_counters::{is_retryable, retry_if};

pub use self::lines::Line;
use self::lines::Lines;
pub use self::statements::Recount;
use self::statements::{FOUND, LOCKED, Values, WRONG, sql};
use super::correction::Which;
use super::kept_counts::{Kept, without_decimals};
use super::sql::trigger_sql;
use super::trigger::{LiveTrigger, Trigger};
use crate::catalogue::{Index, Kind};
use crate::database::{Joined, MYSQL, POSTGRES, SQLITE};
use crate::output::thousands;

/// A count that differed from the rows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Wrong {
    /// With its table.
    pub counter: String,
    /// The values of the entity's key. Empty if the table counts for a single thing.
    pub entity: String,
    /// 1970-01-01 if the rows don't count on their own day.
    pub day: String,
    /// Whether a fold has merged other days into this one. Then both counts are for all of them.
    pub merged: bool,
    pub stored: i64,
    pub actual: i64,
}

/// Writes `article_counters.likes of 7 on 2026-01-31: stored 102, rows 100`, or `… on 2026-01-01
/// (merged days): …`
impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.counter)?;
        if !self.entity.is_empty() {
            write!(f, " of {}", self.entity)?;
        }
        if self.day != "1970-01-01" {
            write!(f, " on {}", self.day)?;
        }
        if self.merged {
            f.write_str(" (merged days)")?;
        }
        let [stored, actual] = [self.stored, self.actual].map(thousands);
        write!(f, ": stored {stored}, rows {actual}")
    }
}

/// Counts that are higher than the rows, and were left as they are.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TooHigh {
    /// With its table.
    pub counter: String,
    pub entities: i64,
    pub difference: i64,
}

/// Writes `2 counts of articles.likes are higher than their rows, by 7 in total: --lower lowers
/// them`
impl fmt::Display for TooHigh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooHigh { counter, .. } = self;
        let [entities, difference] = [self.entities, self.difference].map(thousands);
        match self.entities {
            1 => write!(
                f,
                "1 count of {counter} is higher than its rows, by {difference} in total: --lower \
                 lowers it"
            ),
            _ => write!(
                f,
                "{entities} counts of {counter} are higher than their rows, by {difference} in total: \
                 --lower lowers them"
            ),
        }
    }
}

impl Recount {
    /// Returns its counters, with their table: `article_counters.likes, article_counters.comments`.
    pub fn counters(&self) -> String {
        let names = self.target.names.iter();
        names
            .map(|name| format!("{}.{name}", self.table))
            .joined(", ")
    }

    /// Finds the counts that are wrong. Locks nothing.
    pub fn find<C: Lines>(&self, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        self.transaction(conn, |conn| {
            self.guard(conn)?;
            let wrong = match self.entity {
                None => self.wrong_counts("wrong", conn)?,
                Some(_) => self.wrong_counts_of_entity(conn)?,
            };
            // If somebody has changed the triggers meanwhile, the counts may not be wrong.
            self.require_triggers(conn)?;
            Ok(wrong)
        })
    }

    /// Returns the wrong counts of the only entity that is recounted. The entity becomes a batch,
    /// so that the query finds its rows by an index.
    fn wrong_counts_of_entity<C: Lines>(&self, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        self.list(conn)?;
        // An earlier one may be left in this session.
        self.drop_batch(conn)?;
        let size = 1;
        self.take_batch(size, conn)?;
        let wrong = self.wrong_counts("still_wrong", conn)?;
        self.drop_batch(conn)?;
        Ok(wrong)
    }

    /// Corrects the wrong counts batch by batch, and returns them. Calls `progress` with the number
    /// of entities that are done, and the number of all.
    pub fn correct<C: Lines>(
        &self,
        conn: &mut C,
        mut progress: impl FnMut(u64, u64),
    ) -> QueryResult<Vec<Wrong>> {
        let all = self.transaction(conn, |conn| self.list(conn))?;
        // Without an index, every batch would read all rows again.
        let mut size = if self.is_indexed() { FIRST_BATCH } else { all };
        let mut done = 0;
        let mut wrong = Vec::new();
        // The time of the last batch that took too long.
        let mut last_long: Option<Duration> = None;
        while done < all {
            let began = Instant::now();
            wrong.extend(self.transaction(conn, |conn| self.correct_batch(size, conn))?);
            done = all.min(done + size);
            progress(done, all);
            let took = began.elapsed();
            if took < SHORT {
                size *= 2;
            } else if took > LONG {
                // If half as many entities take nearly as long, every batch reads all rows.
                let reads_all = last_long.is_some_and(|last| took > last * 3 / 4);
                size = if reads_all { all } else { size.div_ceil(2) };
                last_long = Some(took);
            }
        }
        Ok(wrong)
    }

    /// Runs a transaction, and retries it if it conflicts with others.
    fn transaction<C: Lines, T>(
        &self,
        conn: &mut C,
        f: impl Fn(&mut C) -> QueryResult<T>,
    ) -> QueryResult<T> {
        retry_if(can_pass).run(conn, |conn| {
            // MySQL sets the level for the next transaction, and PostgreSQL for the current one:
            // see `correct_batch`.
            if self.counting.database == MYSQL {
                conn.run(READ_COMMITTED)?;
            }
            conn.transaction(&f)
        })
    }

    /// Lists the entities with wrong counts in a temporary table, and returns how many there are.
    /// If the recount is only for one entity, that's the whole list.
    fn list<C: Lines>(&self, conn: &mut C) -> QueryResult<u64> {
        self.guard(conn)?;
        self.require_triggers(conn)?;
        conn.run(&self.drop_table(&self.temporary(WRONG)))?;
        if self.entity.is_some() {
            conn.run(&self.sql("list_none")?)?;
            conn.run(&self.sql("list_one")?)?;
            return Ok(1);
        }
        if self.needs_types_of_key() {
            conn.run(&self.sql("list_none")?)?;
            conn.run(&self.sql("list_into")?)?;
        } else {
            conn.run(&self.sql("list")?)?;
        }
        let lines = conn.lines(&self.sql("count_listed")?)?;
        let mut texts = lines.iter().flat_map(|Line(texts)| texts).flatten();
        let number = parsed_count(texts.next(), ALL_ENTITIES)?;
        Ok(number as u64)
    }

    /// Corrects this number of entities from the list, and returns their wrong counts.
    fn correct_batch<C: Lines>(&self, size: u64, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        match self.counting.database {
            // At a higher level, this would read the counts as they were before the lock.
            POSTGRES => {
                conn.run(READ_COMMITTED)?;
                self.guard(conn)?;
                if self.target.slots.is_none() {
                    conn.run(&self.sql("lock_table")?)?;
                }
            }
            // A recount that failed may have left these tables, because a rollback doesn't drop
            // them.
            MYSQL => self.drop_batch(conn)?,
            SQLITE => conn.run(&self.sql("wait")?)?,
        }
        // Read the counts after the lock, so that no other correction comes in between, and in the
        // same statement as the rows, so that no increment does.
        self.take_batch(size, conn)?;
        self.lock(conn)?;
        if self.needs_types_of_key() {
            conn.run(&self.sql("find_none")?)?;
            conn.run(&self.sql("find_into")?)?;
        } else {
            conn.run(&self.sql("find_wrong")?)?;
        }
        let wrong = self.wrong_counts("wrong_of_batch", conn)?;
        if !wrong.is_empty() {
            // From here on, no trigger can be dropped until the commit. PostgreSQL has the guard,
            // MySQL the metadata locks of the tables that were read, and SQLite the write lock. So
            // check the triggers only after these.
            self.require_triggers(conn)?;
            conn.run(&self.sql("correct")?)?;
            self.compare_again(conn)?;
        }
        conn.run(&self.sql("remove_batch")?)?;
        self.drop_batch(conn)?;
        Ok(wrong)
    }

    /// Takes this number of entities from the list into the table of the batch, and its copies.
    fn take_batch<C: Lines>(&self, size: u64, conn: &mut C) -> QueryResult<()> {
        let values = Values {
            size,
            ..self.values()
        };
        conn.run(&sql("take_batch", &values)?)?;
        for copy in self.batch_copies() {
            let values = Values {
                copy,
                ..self.values()
            };
            conn.run(&sql("copy_batch", &values)?)?;
        }
        Ok(())
    }

    /// Fails if a count of the batch is still wrong. A trigger, a rule or a policy can skip or
    /// change a write, and the database still reports success.
    fn compare_again<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        let still_wrong = self.wrong_counts("still_wrong", conn)?;
        let Some(wrong) = still_wrong.first() else {
            return Ok(());
        };
        let message = format!(
            "{wrong}, and a correction did not change that. A trigger, a rule or a policy of {0} \
             skips or changes what is written: see `diesel-counters check`",
            self.table
        );
        Err(Error::QueryBuilderError(message.into()))
    }

    /// Fails if a trigger of the definition is missing, changed or disabled. Otherwise, counts
    /// would be corrected and then go wrong again. Doesn't look at other triggers.
    fn require_triggers<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        let live = conn.lines(trigger_sql(self.counting.database).live)?;
        let live: Vec<_> = live.into_iter().map(LiveTrigger::from).collect();
        let is_missing = |trigger: &&Trigger| {
            let mut of_table = live.iter().filter(|live| live.table == trigger.table);
            !of_table.any(|live| live.is_like(trigger) && live.disabled.is_none())
        };
        let Some(missing) = self.triggers.iter().find(is_missing) else {
            return Ok(());
        };
        let table = &missing.table.name;
        let not_seen = match self.counting.database {
            MYSQL => format!(
                ". If nothing is wrong, this account isn't allowed to see it: GRANT TRIGGER ON \
                 {table} to it"
            ),
            _ => String::new(),
        };
        let message = format!(
            "the triggers of this database are not those of counters.toml: {table} has no {}, or a \
             different one, or it is disabled. Run the migrations (`diesel migration run`), or see \
             `diesel-counters check`{not_seen}",
            missing.name
        );
        Err(Error::QueryBuilderError(message.into()))
    }

    /// Returns how many entities have a count that is higher than their rows, for every counter.
    /// Returns nothing if such counts aren't left as they are.
    pub fn left_too_high<C: Lines>(&self, conn: &mut C) -> QueryResult<Vec<TooHigh>> {
        if self.which == Which::All || self.counting.keeps_deleted() {
            return Ok(Vec::new());
        }
        let entity = self.entity.as_deref().unwrap_or_default();
        let query = self
            .counting
            .kept_counts_query(&self.target, Kept::HigherThanRows, entity);
        let query = query.map_err(|error| Error::QueryBuilderError(error.to_string().into()))?;
        let lines = self.transaction(conn, |conn| {
            self.guard(conn)?;
            let lines = conn.lines(&query)?;
            self.require_triggers(conn)?;
            Ok(lines)
        })?;
        let texts: Vec<_> = lines.into_iter().flat_map(|Line(texts)| texts).collect();
        let mut too_high = Vec::new();
        // There are two texts for every counter.
        for (name, texts) in self.target.names.iter().zip(texts.chunks(2)) {
            if let [Some(entities), Some(difference)] = texts {
                too_high.push(TooHigh {
                    counter: format!("{}.{name}", self.table),
                    entities: parsed_count(Some(&without_decimals(entities)), ALL_ENTITIES)?,
                    difference: parsed_count(Some(&without_decimals(difference)), ALL_ENTITIES)?,
                });
            }
        }
        Ok(too_high)
    }

    /// On PostgreSQL, blocks TRUNCATE and dropping of triggers until the transaction ends.
    fn guard<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        match self.counting.database {
            POSTGRES => conn.run(&self.sql("guard")?),
            _ => Ok(()),
        }
    }

    /// Locks the entities of the batch. On SQLite, `wait` has already made this the only writer.
    fn lock<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        if self.target.slots.is_some() {
            return conn.run(&self.sql("lock_slots")?);
        }
        match self.counting.database {
            SQLITE => Ok(()),
            _ => conn.lines(&self.sql("lock_rows")?).map(drop),
        }
    }

    /// Whether temporary tables need the types of the entity's key. Otherwise they have those of
    /// the rows that name it, which can be TEXT, and MySQL can't use that as a key of a table.
    fn needs_types_of_key(&self) -> bool {
        let mut key = self.target.entity.iter();
        let has_text = key.any(|column| matches!(column.kind, Kind::Text | Kind::Binary));
        self.counting.database == MYSQL && has_text
    }

    /// Whether an entity's rows can be found without reading all rows. Otherwise, there is a single
    /// batch.
    fn is_indexed(&self) -> bool {
        self.target.sources.iter().all(|source| {
            let begins_with_entity = |index: &Index| {
                let first = &index.columns[0];
                source.entity.iter().any(|column| column.name == *first)
            };
            self.counting.rows.indexes.iter().any(begins_with_entity)
        })
    }

    /// Drops the temporary tables of a batch.
    fn drop_batch<C: Lines>(&self, conn: &mut C) -> QueryResult<()> {
        let mut tables = self.batch_copies();
        tables.push(self.temporary(LOCKED));
        tables.push(self.temporary(FOUND));
        for table in tables {
            conn.run(&self.drop_table(&table))?;
        }
        Ok(())
    }

    /// Returns the wrong counts that the query of this name finds.
    fn wrong_counts<C: Lines>(&self, query: &str, conn: &mut C) -> QueryResult<Vec<Wrong>> {
        let mut wrong = Vec::new();
        for Line(texts) in conn.lines(&self.sql(query)?)? {
            let (key, rest) = texts.split_at(self.target.entity.len());
            let [day, number_of_days, counts @ ..] = rest else {
                return Err(too_few_columns());
            };
            // Only SQLite allows NULL in a key.
            let key_texts = key.iter().map(|text| text.as_deref().unwrap_or("NULL"));
            let entity = key_texts.joined(", ");
            let parsed = |count: &Option<String>| parsed_count(count.as_ref(), &entity);
            // There are three numbers for every counter.
            for (counter, counts) in self.target.names.iter().zip(counts.chunks(3)) {
                let [actual, stored, missing] = counts else {
                    return Err(too_few_columns());
                };
                if parsed(missing)? == 0 {
                    continue;
                }
                wrong.push(Wrong {
                    counter: format!("{}.{counter}", self.table),
                    entity: entity.clone(),
                    day: day.clone().unwrap_or_default(),
                    merged: parsed(number_of_days)? > 1,
                    stored: parsed(stored)?,
                    actual: parsed(actual)?,
                });
            }
        }
        Ok(wrong)
    }
}

/// Returns the error for a row that has fewer columns than its query.
fn too_few_columns() -> Error {
    Error::DeserializationError("a row has too few columns".into())
}

/// The number of entities in the first batch. A batch that is short doubles it, and one that is
/// long halves it.
const FIRST_BATCH: u64 = 32;
const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_millis(400);

/// Whether trying again can succeed. It can if another transaction has changed the rows, or is
/// deleting an entity that this one locks: then the foreign key refuses the lock.
fn can_pass(error: &Error) -> bool {
    match error {
        Error::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _) => true,
        error => is_retryable(error),
    }
}

const READ_COMMITTED: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Stands for an entity if a count is for all of them.
const ALL_ENTITIES: &str = "";

/// Parses a count of an entity. The error names the entity, unless the count is for all of them.
fn parsed_count(count: Option<&String>, entity: &str) -> QueryResult<i64> {
    let text = count.map_or("NULL", String::as_str);
    text.parse().map_err(|_| {
        let of_entity = match entity {
            ALL_ENTITIES => String::new(),
            entity => format!(" of {entity}"),
        };
        let message = format!("the count {text}{of_entity} is out of the range of a counter");
        Error::QueryBuilderError(message.into())
    })
}
