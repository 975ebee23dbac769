//! The statements of a recount of triggers.

use std::sync::Arc;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::row::{NamedRow, Row};
use diesel::sql_types::{Text, Untyped};
use serde::{Deserialize, Serialize};

use crate::backend::{Bind, CounterBackend, Dialect, numbered, push_names};
use crate::day::UNDATED;
use crate::key::field;
use crate::slot::Partition;

/// A definition of triggers, as a migration of `diesel-counters generate trigger` stores it in a view.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredTriggers {
    /// What the user wrote.
    pub definition: serde_json::Value,
    /// The tables that they count in.
    pub targets: Vec<Arc<CountedTable>>,
}

/// A table with counters that triggers count in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountedTable {
    /// The view of the entities, or of their days, whose counts are wrong. Its columns are the key, the
    /// day, the true count of each counter, and its stored count: `stored_` and the counter's name.
    pub view: String,
    /// The schema of the table, if the table is not found without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The name of the table.
    pub table: String,
    /// The columns of the entity's key.
    pub key: Vec<String>,
    /// The day and the slot of a counter table. Otherwise the table has one row for each entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<[String; 2]>,
    /// Whether the rows name the day that they are counted on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_day: bool,
    /// The columns that the triggers count in.
    pub counters: Vec<String>,
}

impl CountedTable {
    fn key(&self) -> Vec<&str> {
        self.key.iter().map(|name| &**name).collect()
    }

    /// The columns by which the view groups the counts.
    fn group(&self) -> Vec<&str> {
        let day = self.slots.iter().filter(|_| self.by_day);
        let day = day.map(|[day, _]| &**day);
        self.key().into_iter().chain(day).collect()
    }

    /// The name of the table, as a program's `table!` has it.
    pub(super) fn name(&self) -> String {
        let schema = self.schema.iter().map(|schema| schema.clone() + ".");
        schema.collect::<String>() + &self.table
    }
}

/// The name of the table.
impl<DB: Backend> QueryFragment<DB> for CountedTable {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        if let Some(schema) = &self.schema {
            out.push_identifier(schema)?;
            out.push_sql(".");
        }
        out.push_identifier(&self.table)
    }
}

// The temporary tables of a recount: the entities that it has locked, and their counts.
const LOCKED: &str = "diesel_counters_locked";
const FOUND: &str = "diesel_counters_found";
// The columns of the latter.
const ACTUAL: &str = "diesel_counters_actual";
const STORED: &str = "diesel_counters_stored";

/// A query of texts. Returns its rows as [`Texts`].
#[derive(Debug, Clone)]
pub enum TextQuery {
    /// The names of the views that define triggers.
    Views,
    /// The definition in a view.
    Definition(String),
    /// The wrong counts: the key and the day, and then the true and the stored count of each counter.
    Wrong {
        counted: Arc<CountedTable>,
        /// Whether a transaction is open, whose snapshot may be older than the counts.
        may_be_stale: bool,
    },
    /// The same, of the entities that are locked.
    Found(Arc<CountedTable>),
    /// Locks the rows of an ordinary table.
    Lock(Arc<CountedTable>),
}
statement!(TextQuery() -> Untyped);

/// A row of a [`TextQuery`].
#[derive(Debug)]
pub struct Texts(pub(super) Vec<String>);

impl<DB> QueryableByName<DB> for Texts
where
    DB: Backend,
    String: FromSql<Text, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let texts = (0..Row::field_count(row)).map(|i| field::<Text, _, _>(row, i));
        texts.collect::<Result<_, _>>().map(Texts)
    }
}

impl<DB: CounterBackend> QueryFragment<DB> for TextQuery {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each table has texts of its own, and a temporary table is another one each time.
        out.unsafe_to_cache_prepared();
        let dialect = Dialect::of(&out);
        match self {
            TextQuery::Views => out.push_sql(dialect.trigger_views()),
            TextQuery::Definition(view) => {
                out.push_sql("SELECT ");
                dialect.push_text(
                    |out| out.push_identifier("diesel_counters_trigger"),
                    &mut out,
                )?;
                out.push_sql(" FROM ");
                out.push_identifier(view)?;
            }
            TextQuery::Wrong {
                counted,
                may_be_stale,
            } => {
                dialect.refuse_old_snapshot(*may_be_stale)?;
                let counters = counted.counters.iter();
                let counters = counters.map(|name| [name.clone(), stored(name)]);
                push_counts(counted, counters, &mut out)?;
                out.push_sql(" FROM ");
                out.push_identifier(&counted.view)?;
                push_by(" ORDER BY ", &counted.group(), &mut out)?;
            }
            TextQuery::Found(counted) => {
                let counters = 0..counted.counters.len();
                let counters = counters.map(|i| [numbered(ACTUAL, i), numbered(STORED, i)]);
                push_counts(counted, counters, &mut out)?;
                out.push_sql(" FROM ");
                out.push_sql(FOUND);
                push_by(" ORDER BY ", &counted.group(), &mut out)?;
            }
            // SELECT COUNT(*) FROM (SELECT 1 FROM t WHERE … ORDER BY … FOR UPDATE) AS locked
            TextQuery::Lock(counted) => {
                out.push_sql("SELECT ");
                let push_number = |out: &mut AstPass<'_, '_, DB>| {
                    out.push_sql("COUNT(*)");
                    Ok(())
                };
                dialect.push_text(push_number, &mut out)?;
                out.push_sql(" FROM (SELECT 1 FROM ");
                counted.walk_ast(out.reborrow())?;
                push_where_locked(counted, &mut out)?;
                push_by(" ORDER BY ", &counted.key(), &mut out)?;
                out.push_sql(dialect.for_update());
                out.push_sql(") AS ");
                out.push_sql(LOCKED);
            }
        }
        Ok(())
    }
}

/// A step of the transaction that corrects the counters of a table. Each is a statement.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// From here on, queries read the latest committed rows.
    Begin,
    /// No `TRUNCATE` of PostgreSQL can come from here on. A query that waits for one would read the rows
    /// of after it, and the counts of before it.
    Guard,
    /// Stores the entities whose counts are wrong.
    StoreEntities,
    /// Locks them as other corrections do: it adds 0 to the row of 1970-01-01 in slot 0.
    Lock,
    /// Stores their counts, as of one moment.
    StoreCounts,
    /// Adds what is missing.
    Correct,
    DropCounts,
    DropEntities,
}

/// A [`Step`] for a table.
#[derive(Debug, Clone)]
pub struct RecountStep {
    pub(super) counted: Arc<CountedTable>,
    pub(super) step: Step,
    pub(super) partition: Partition,
}
statement!(RecountStep());

impl<DB: CounterBackend> QueryFragment<DB> for RecountStep {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        let (dialect, counted) = (Dialect::of(&out), &*self.counted);
        match self.step {
            Step::Begin => match dialect {
                Dialect::PostgreSql => {
                    out.push_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
                }
                // A recount that failed can have left them.
                Dialect::MySql => {
                    push_all(&[dialect.drop_temporary(), LOCKED, ", ", FOUND], &mut out)
                }
                // It waits for the write lock, and deletes nothing.
                Dialect::Sqlite => {
                    out.push_sql("DELETE FROM ");
                    counted.walk_ast(out.reborrow())?;
                    out.push_sql(" WHERE 0");
                }
            },
            Step::Guard => match dialect {
                Dialect::PostgreSql => {
                    out.push_sql("LOCK TABLE ");
                    out.push_identifier(&counted.view)?;
                    out.push_sql(" IN ACCESS SHARE MODE");
                }
                // They do nothing. On MySQL and MariaDB, a query would leave a row to read.
                Dialect::MySql => out.push_sql("DO 0"),
                Dialect::Sqlite => out.push_sql("SELECT 1"),
            },
            Step::StoreEntities => {
                push_all(&["CREATE TEMPORARY TABLE ", LOCKED], &mut out);
                let key = match &*counted.key() {
                    [] => vec![LOCKED],
                    key => key.to_vec(),
                };
                if dialect == Dialect::MySql {
                    out.push_sql(" (PRIMARY KEY (");
                    push_names(&key, &mut out)?;
                    out.push_sql("))");
                }
                out.push_sql(" AS SELECT DISTINCT ");
                if counted.key.is_empty() {
                    out.push_sql("1 AS ");
                }
                push_names(&key, &mut out)?;
                out.push_sql(" FROM ");
                out.push_identifier(&counted.view)?;
            }
            Step::Lock => {
                let Some(slots) = &counted.slots else {
                    return Ok(());
                };
                push_insert(counted, slots, &mut out)?;
                push_key(&counted.key(), &self.partition, &mut out)?;
                out.push_sql(&", 0".repeat(counted.counters.len()));
                push_all(&[" FROM ", LOCKED, " WHERE 1 = 1"], &mut out);
                push_by(" ORDER BY ", &counted.key(), &mut out)?;
                push_on_conflict(counted, slots, &mut out)?;
            }
            Step::StoreCounts => {
                push_all(&["CREATE TEMPORARY TABLE ", FOUND, " AS SELECT "], &mut out);
                for name in counted.group() {
                    out.push_identifier(name)?;
                    out.push_sql(", ");
                }
                for (i, name) in counted.counters.iter().enumerate() {
                    out.push_sql(if i == 0 { "" } else { ", " });
                    out.push_identifier(name)?;
                    push_all(&[" AS ", &numbered(ACTUAL, i), ", "], &mut out);
                    out.push_identifier(&stored(name))?;
                    push_all(&[" AS ", &numbered(STORED, i)], &mut out);
                }
                out.push_sql(" FROM ");
                out.push_identifier(&counted.view)?;
                push_where_locked(counted, &mut out)?;
            }
            Step::Correct => match &counted.slots {
                Some(slots) => {
                    push_insert(counted, slots, &mut out)?;
                    match counted.by_day {
                        true => {
                            push_names(&counted.group(), &mut out)?;
                            out.push_sql(", ");
                            dialect.push_merged_slot(&self.partition, &mut out)?;
                        }
                        false => push_key(&counted.key(), &self.partition, &mut out)?,
                    }
                    for i in 0..counted.counters.len() {
                        out.push_sql(", ");
                        push_missing(dialect, i, &mut out)?;
                    }
                    push_all(&[" FROM ", FOUND, " WHERE 1 = 1"], &mut out);
                    push_by(" ORDER BY ", &counted.group(), &mut out)?;
                    push_on_conflict(counted, slots, &mut out)?;
                }
                None => push_update(counted, dialect, &mut out)?,
            },
            Step::DropCounts => push_all(&[dialect.drop_temporary(), FOUND], &mut out),
            Step::DropEntities => push_all(&[dialect.drop_temporary(), LOCKED], &mut out),
        }
        Ok(())
    }
}

/// The table with counters, in an `UPDATE`.
const COUNTED: &str = "diesel_counters_counted";

/// `UPDATE t SET c = t.c + (actual - stored) FROM found WHERE t.key = found.key`
fn push_update<'b, DB: CounterBackend>(
    counted: &'b CountedTable,
    dialect: Dialect,
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()> {
    let push_same_key = |out: &mut AstPass<'_, '_, DB>| {
        for (i, name) in counted.key.iter().enumerate() {
            push_all(&[if i == 0 { "" } else { " AND " }, COUNTED, "."], out);
            out.push_identifier(name)?;
            push_all(&[" = ", FOUND, "."], out);
            out.push_identifier(name)?;
        }
        QueryResult::Ok(())
    };
    out.push_sql("UPDATE ");
    counted.walk_ast(out.reborrow())?;
    push_all(&[" AS ", COUNTED], out);
    if dialect == Dialect::MySql {
        push_all(&[" JOIN ", FOUND, " ON "], out);
        push_same_key(out)?;
    }
    out.push_sql(" SET ");
    for (i, name) in counted.counters.iter().enumerate() {
        out.push_sql(if i == 0 { "" } else { ", " });
        if dialect == Dialect::MySql {
            push_all(&[COUNTED, "."], out);
        }
        out.push_identifier(name)?;
        out.push_sql(" = ");
        let push_sum = |out: &mut AstPass<'_, '_, DB>| {
            push_all(&[COUNTED, "."], out);
            out.push_identifier(name)?;
            out.push_sql(" + ");
            push_missing(dialect, i, out)
        };
        dialect.push_whole(push_sum, out)?;
    }
    if dialect != Dialect::MySql {
        push_all(&[" FROM ", FOUND, " WHERE "], out);
        push_same_key(out)?;
    }
    Ok(())
}

/// What the counter with this number lacks.
fn push_missing<DB: CounterBackend>(
    dialect: Dialect,
    counter: usize,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    let push_difference = |out: &mut AstPass<'_, '_, DB>| {
        let (actual, stored) = (numbered(ACTUAL, counter), numbered(STORED, counter));
        push_all(&["(", &actual, " - ", &stored, ")"], out);
        Ok(())
    };
    dialect.push_whole(push_difference, out)
}

/// `key, DATE '1970-01-01', slot`
fn push_key<'b, DB: CounterBackend>(
    key: &[&str],
    partition: &'b Partition,
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()> {
    push_names(key, out)?;
    out.push_sql(if key.is_empty() { "" } else { ", " });
    DB::push_bind(Bind::StoredDay(&UNDATED), out)?;
    out.push_sql(", ");
    Dialect::of(out).push_merged_slot(partition, out)
}

/// `INSERT INTO t (key, day, slot, counters) SELECT `
fn push_insert<'b, DB: CounterBackend>(
    counted: &'b CountedTable,
    slots: &[String; 2],
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()> {
    let names = counted.key.iter().chain(slots).chain(&counted.counters);
    let names: Vec<&str> = names.map(|name| &**name).collect();
    Dialect::of(out).push_insert_into(counted, out)?;
    push_names(&names, out)?;
    out.push_sql(") SELECT ");
    Ok(())
}

fn push_on_conflict<DB: CounterBackend>(
    counted: &CountedTable,
    slots: &[String; 2],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    let key = counted.key.iter().chain(slots);
    let key: Vec<&str> = key.map(|name| &**name).collect();
    let counters: Vec<&str> = counted.counters.iter().map(|name| &**name).collect();
    Dialect::of(out).push_on_conflict_add(&key, &counters, out)
}

/// ` WHERE key IN (SELECT key FROM locked)`
fn push_where_locked<DB: CounterBackend>(
    counted: &CountedTable,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    let key = counted.key();
    if key.is_empty() {
        return Ok(());
    }
    let [before, after] = if key.len() > 1 { ["(", ")"] } else { ["", ""] };
    push_all(&[" WHERE ", before], out);
    push_names(&key, out)?;
    push_all(&[after, " IN (SELECT "], out);
    push_names(&key, out)?;
    push_all(&[" FROM ", LOCKED, ")"], out);
    Ok(())
}

/// The name of the view's column with the stored count of a counter.
fn stored(counter: &str) -> String {
    format!("stored_{counter}")
}

/// `SELECT` the key and the day, and these two columns of each counter, all as texts.
fn push_counts<DB: CounterBackend>(
    counted: &CountedTable,
    counters: impl Iterator<Item = [String; 2]>,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    let dialect = Dialect::of(out);
    out.push_sql("SELECT ");
    for name in counted.group() {
        dialect.push_text(|out| out.push_identifier(name), out)?;
        out.push_sql(", ");
    }
    if !counted.by_day {
        out.push_sql("'1970-01-01', ");
    }
    for (i, names) in counters.flatten().enumerate() {
        out.push_sql(if i == 0 { "" } else { ", " });
        dialect.push_text(|out| out.push_identifier(&names), out)?;
    }
    Ok(())
}

/// Writes a clause with these names, or nothing.
fn push_by<DB: Backend>(
    clause: &str,
    names: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    if !names.is_empty() {
        out.push_sql(clause);
        push_names(names, out)?;
    }
    Ok(())
}

fn push_all<DB: Backend>(parts: &[&str], out: &mut AstPass<'_, '_, DB>) {
    for part in parts {
        out.push_sql(part);
    }
}
