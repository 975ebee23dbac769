//! Correcting the counters of triggers.

use std::fmt;
use std::sync::Arc;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::correcting::trigger_statements::{
    CountedTable, RecountStep, Step, StoredTriggers, TextQuery, Texts,
};
use crate::error::is_retryable;
use crate::slot::Partition;
use crate::transaction::{is_in_a_lasting_transaction, is_in_a_transaction, transaction};

/// Corrects the counters that triggers count in, by counting the rows again.
///
/// The triggers are those of [`diesel-counters generate trigger`](https://docs.rs/crate/diesel_counters_cli),
/// whose migration stores their definitions in the database. All of them are recounted, or those that
/// [`of`](RecountTriggers::of) names. The command `diesel-counters recount` does the same.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # use diesel::connection::SimpleConnection;
/// # conn.batch_execute("CREATE TABLE article_likes (article_id INTEGER NOT NULL REFERENCES articles (id) \
/// #     ON DELETE CASCADE, user_id INTEGER NOT NULL, PRIMARY KEY (article_id, user_id)) STRICT")?;
/// # conn.batch_execute(include_str!(
/// #     "../../migrations/triggers/sqlite/00000000000002_count_article_likes/up.sql"
/// # ))?;
/// use diesel_counters::dsl::recount_triggers;
/// use diesel_counters::prelude::*;
///
/// // A count without a row.
/// increment(article_counters::likes).of(1_i64).execute(conn)?;
///
/// for table in recount_triggers().dry_run(conn)? {
///     for wrong in table.wrong {
///         println!("{}.{} of {}: {}", table.table, wrong.counter, wrong.entity, wrong.stored);
///     }
/// }
///
/// let corrected = recount_triggers().execute(conn)?;
/// assert_eq!(corrected[0].wrong[0].actual, 0);
/// assert_eq!(counter_value(article_counters::likes).of(1_i64).get_result::<i64>(conn)?, 0);
/// # Ok(())
/// # }
/// ```
///
/// A [`Compactor`](crate::Compactor) runs it regularly, with
/// [`recount_triggers`](crate::dsl::CompactorBuilder::recount_triggers).
///
/// # Concurrency
///
/// Programs can write rows, and count them, at the same time. For each table, it first finds the
/// entities with wrong counts, without a lock. If there are any, a transaction locks these entities
/// against other corrections, and then one statement reads both the rows and the counts, as of the same
/// moment. In a counter table the lock is the entity's row of 1970-01-01 in slot 0, and increments do
/// not wait for it, except on SQLite. In an ordinary column the lock is the row itself: whoever writes
/// the row waits.
///
/// # Errors
///
/// It returns the database's own errors, and a [`QueryBuilderError`](Error::QueryBuilderError):
///
/// - if the definition of triggers cannot be read, because another version has written it;
/// - if [`of`](RecountTriggers::of) names triggers that do not exist;
/// - if a transaction is open on MySQL or MariaDB, as for [`recount`](crate::dsl::recount()).
///
/// Tables before the error stay corrected.
pub fn recount_triggers() -> RecountTriggers<'static> {
    RecountTriggers {
        names: Vec::new(),
        stored: None,
        on_progress: Box::new(|_| ()),
        is_stopped: Box::new(|| false),
    }
}

/// A recount of the counters of triggers; made by [`recount_triggers`].
#[must_use = "counters are not recounted until this is executed"]
pub struct RecountTriggers<'p> {
    names: Vec<String>,
    stored: Option<Arc<Vec<StoredTriggers>>>,
    on_progress: Box<dyn FnMut(&RecountedTable) + Send + 'p>,
    is_stopped: Box<dyn Fn() -> bool + Send + 'p>,
}

impl fmt::Debug for RecountTriggers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecountTriggers")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// A table whose counters were recounted; returned by [`recount_triggers`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecountedTable {
    /// The name of the triggers, as in `generate trigger NAME`.
    pub triggers: String,
    /// The table whose rows they count.
    pub rows: String,
    /// The table with the counters.
    pub table: String,
    /// The counts that were wrong, in the order of their keys.
    pub wrong: Vec<WrongCount>,
    /// The number of tables that are left to recount.
    pub left: usize,
}

/// A count that was not that of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongCount {
    /// The name of the column.
    pub counter: String,
    /// The entity's key as text, such as `7`, or `7, en` for a key of two columns. Bytes are written as
    /// hexadecimal digits. Empty if the table counts for one thing only.
    pub entity: String,
    /// The day, if the triggers count by a day of the row. Otherwise the total was wrong.
    pub day: Option<NaiveDate>,
    /// The stored count, before the correction.
    pub stored: i64,
    /// The number of rows, or the sum of their weights.
    pub actual: i64,
}

/// A connection on which [`recount_triggers`] runs: every one whose backend counters support.
pub trait RecountConnection: Connection<Backend: CounterBackend> {
    #[doc(hidden)]
    fn texts(&mut self, query: TextQuery) -> QueryResult<Vec<Texts>>;
    #[doc(hidden)]
    fn step(&mut self, step: RecountStep) -> QueryResult<usize>;
}

impl<Conn> RecountConnection for Conn
where
    Conn: Connection<Backend: CounterBackend>,
    for<'a> TextQuery: LoadQuery<'a, Conn, Texts>,
    RecountStep: ExecuteDsl<Conn>,
{
    fn texts(&mut self, query: TextQuery) -> QueryResult<Vec<Texts>> {
        query.load(self)
    }

    fn step(&mut self, step: RecountStep) -> QueryResult<usize> {
        step.execute(self)
    }
}

impl<'p> RecountTriggers<'p> {
    /// Recounts only the triggers of this name, and of the names of other calls.
    pub fn of(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Calls `f` after each table.
    pub fn on_progress<'q>(self, f: impl FnMut(&RecountedTable) + Send + 'q) -> RecountTriggers<'q>
    where
        'p: 'q,
    {
        RecountTriggers {
            on_progress: Box::new(f),
            ..self
        }
    }

    /// Stops the recount if `f` returns `true`. `f` is called before each table. If this is called several
    /// times, the recount stops when any of the functions returns `true`.
    pub fn stop_when<'q>(self, f: impl Fn() -> bool + Send + 'q) -> RecountTriggers<'q>
    where
        'p: 'q,
    {
        let earlier = self.is_stopped;
        RecountTriggers {
            is_stopped: Box::new(move || earlier() || f()),
            ..self
        }
    }

    /// Returns the counts that are wrong, table by table, and changes nothing. It is one query for each
    /// table, after those that read the definitions.
    ///
    /// # Errors
    ///
    /// Those of [`recount_triggers`], but for an open transaction: on MySQL and MariaDB it compares the
    /// rows as they were when the transaction began.
    pub fn dry_run<Conn: RecountConnection>(
        self,
        conn: &mut Conn,
    ) -> QueryResult<Vec<RecountedTable>> {
        self.each(conn, |counted, conn| find(counted, false, conn))
    }

    /// Corrects the counts that are wrong. Returns them, table by table.
    ///
    /// Each table is a transaction of its own, or a savepoint if a transaction is open. A transaction
    /// that conflicts with another one is tried up to five times.
    ///
    /// # Errors
    ///
    /// Those of [`recount_triggers`].
    pub fn execute<Conn: RecountConnection>(
        self,
        conn: &mut Conn,
    ) -> QueryResult<Vec<RecountedTable>> {
        self.each(conn, correct)
    }

    /// The same for definitions that were read before.
    #[doc(hidden)]
    pub fn of_stored(mut self, stored: Arc<Vec<StoredTriggers>>) -> Self {
        self.stored = Some(stored);
        self
    }

    fn each<Conn: RecountConnection>(
        mut self,
        conn: &mut Conn,
        recount: impl Fn(&Arc<CountedTable>, &mut Conn) -> QueryResult<Vec<WrongCount>>,
    ) -> QueryResult<Vec<RecountedTable>> {
        let stored = match self.stored.take() {
            Some(stored) => stored,
            None => Arc::new(stored_triggers(conn)?),
        };
        if let Some(name) = self.names.iter().find(|name| {
            let mut stored = stored.iter();
            !stored.any(|stored| stored.text("name") == **name)
        }) {
            let known: Vec<_> = stored.iter().map(|stored| stored.text("name")).collect();
            return Err(query_error(match &*known {
                [] => {
                    "this database has no triggers of `diesel-counters generate trigger`".to_owned()
                }
                known => format!(
                    "there are no triggers {name}; there are {}",
                    known.join(", ")
                ),
            }));
        }
        let of_names = stored.iter().filter(|stored| {
            self.names.is_empty() || self.names.iter().any(|name| stored.text("name") == *name)
        });
        let tables = of_names.flat_map(|stored| stored.targets.iter().map(move |of| (stored, of)));
        let tables: Vec<_> = tables.collect();
        let mut recounted = Vec::with_capacity(tables.len());
        for (i, (stored, counted)) in tables.iter().enumerate() {
            if (self.is_stopped)() {
                break;
            }
            let table = RecountedTable {
                triggers: stored.text("name").to_owned(),
                rows: stored.text("rows").to_owned(),
                table: counted.name(),
                wrong: recount(counted, conn)?,
                left: tables.len() - i - 1,
            };
            (self.on_progress)(&table);
            recounted.push(table);
        }
        Ok(recounted)
    }
}

impl StoredTriggers {
    fn text(&self, key: &str) -> &str {
        self.definition[key].as_str().unwrap_or_default()
    }
}

/// The definitions of all triggers of the database, by name.
pub fn stored_triggers<Conn: RecountConnection>(
    conn: &mut Conn,
) -> QueryResult<Vec<StoredTriggers>> {
    let views = conn.texts(TextQuery::Views)?;
    let mut views: Vec<_> = views.into_iter().flat_map(|Texts(names)| names).collect();
    // The database's own order depends on its collation.
    views.sort();
    let read = |view: String| {
        let texts = conn.texts(TextQuery::Definition(view.clone()))?;
        let text: String = texts.into_iter().flat_map(|Texts(texts)| texts).collect();
        serde_json::from_str(&text).map_err(|error| {
            query_error(format!(
                "cannot read the definition of triggers in {view}: {error}. Generate the triggers again, \
                 with the version of diesel-counters that reads them: {text}"
            ))
        })
    };
    views.into_iter().map(read).collect()
}

/// How often a table is tried.
const TRIES: usize = 5;

fn correct<Conn: RecountConnection>(
    counted: &Arc<CountedTable>,
    conn: &mut Conn,
) -> QueryResult<Vec<WrongCount>> {
    let mut tries = 0;
    loop {
        // Most tables have no wrong count. This query locks nothing, and writes nothing.
        let wrong = find(counted, is_in_a_lasting_transaction(conn)?, conn)?;
        if wrong.is_empty() {
            return Ok(wrong);
        }
        let in_a_transaction = is_in_a_transaction(conn)?;
        tries += 1;
        match transaction(conn, |conn| correct_locked(counted, conn)) {
            Err(error) if tries < TRIES && passes(&error, in_a_transaction) => {}
            corrected => return corrected,
        }
    }
}

/// Whether the same again can succeed: if another transaction has changed the rows, or deleted an
/// entity between the query that finds its wrong counts and the statement that locks it. The foreign
/// key then refuses the lock.
fn passes(error: &Error, in_a_transaction: bool) -> bool {
    match error {
        Error::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _) => true,
        error => !in_a_transaction && is_retryable(error),
    }
}

/// Returns the wrong counts. It locks no row.
fn find<Conn: RecountConnection>(
    counted: &Arc<CountedTable>,
    may_be_stale: bool,
    conn: &mut Conn,
) -> QueryResult<Vec<WrongCount>> {
    let wrong = TextQuery::Wrong {
        counted: Arc::clone(counted),
        may_be_stale,
    };
    transaction(conn, |conn| {
        step(counted, Step::Guard, conn)?;
        wrong_counts(counted, wrong, conn)
    })
}

fn step<Conn: RecountConnection>(
    counted: &Arc<CountedTable>,
    step: Step,
    conn: &mut Conn,
) -> QueryResult<()> {
    let (counted, partition) = (Arc::clone(counted), Partition::chosen());
    let step = RecountStep {
        counted,
        step,
        partition,
    };
    conn.step(step).map(drop)
}

fn correct_locked<Conn: RecountConnection>(
    counted: &Arc<CountedTable>,
    conn: &mut Conn,
) -> QueryResult<Vec<WrongCount>> {
    for before in [Step::Begin, Step::Guard, Step::StoreEntities] {
        step(counted, before, conn)?;
    }
    match counted.slots {
        Some(_) => step(counted, Step::Lock, conn)?,
        None => conn.texts(TextQuery::Lock(Arc::clone(counted))).map(drop)?,
    }
    step(counted, Step::StoreCounts, conn)?;
    let wrong = wrong_counts(counted, TextQuery::Found(Arc::clone(counted)), conn)?;
    if !wrong.is_empty() {
        step(counted, Step::Correct, conn)?;
    }
    step(counted, Step::DropCounts, conn)?;
    step(counted, Step::DropEntities, conn)?;
    Ok(wrong)
}

fn wrong_counts<Conn: RecountConnection>(
    counted: &CountedTable,
    query: TextQuery,
    conn: &mut Conn,
) -> QueryResult<Vec<WrongCount>> {
    let mut wrong = Vec::new();
    for Texts(row) in conn.texts(query)? {
        let (key, rest) = row.split_at(counted.key.len());
        let (day, counts) = rest.split_at(1);
        let day = match counted.by_day {
            true => Some(parsed(&day[0])?),
            false => None,
        };
        for (counter, counts) in counted.counters.iter().zip(counts.chunks(2)) {
            let [actual, stored] = [parsed(&counts[0])?, parsed(&counts[1])?];
            if actual != stored {
                wrong.push(WrongCount {
                    counter: counter.clone(),
                    entity: key.join(", "),
                    day,
                    stored,
                    actual,
                });
            }
        }
    }
    Ok(wrong)
}

fn parsed<T: std::str::FromStr>(text: &str) -> QueryResult<T> {
    let parsed = text.parse();
    parsed.map_err(|_| query_error(format!("{text} is out of the range of a counter")))
}

fn query_error(message: String) -> Error {
    Error::QueryBuilderError(message.into())
}
