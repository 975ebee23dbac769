//! A definition with the tables that it names.

use super::Expression;
use super::definition::{Definition, Deleted, Period};
use super::keys::name_keys;
use super::sql::{TriggerSql, trigger_sql};
use super::target::{Source, Target};
use super::targets::targets;
use crate::catalogue::{CounterTable, Table, WideForeignKey, table};
use crate::connection::AnyConnection;
use crate::database::{Database, MYSQL, SQLITE};
use anyhow::{Context, Result, bail};

/// The rows of a table, and the counters that count them.
#[derive(Clone)]
pub struct Counting {
    pub database: Database,
    pub sql: &'static TriggerSql,
    pub definition: Definition,
    /// The period of its counter tables. `Day` if it has none.
    pub period: Period,
    pub rows: Table,
    pub when: Option<Expression>,
    pub day: Option<DayColumn>,
    pub targets: Vec<Target>,
    /// The names of its triggers in the database, and their indexes among all triggers. MySQL runs
    /// the triggers of an event in this order.
    pub trigger_indexes: Vec<(String, usize)>,
}

/// The column with a row's day.
#[derive(Clone)]
pub struct DayColumn {
    pub name: String,
    /// Without a length or precision.
    pub sql_type: String,
    is_nullable: bool,
    /// SQL for its day in UTC, where `{}` is the column.
    in_utc: &'static str,
}

impl DayColumn {
    /// Returns SQL for a row's day in UTC. For the row `NEW`, that's `DATE(NEW.created_at)`.
    pub fn for_row(&self, row: &str, database: Database) -> String {
        let column = database.column(row, &self.name);
        self.in_utc.replace("{}", &column)
    }

    /// Whether the day can be NULL. On SQLite, `date` returns NULL for a text that isn't a date.
    pub fn can_be_null(&self, database: Database) -> bool {
        self.is_nullable || database == SQLITE
    }
}

impl Counting {
    /// Looks up the tables of a definition. Fails if the rows can't be counted.
    pub fn new(mut definition: Definition, conn: &mut AnyConnection) -> Result<Self> {
        let database = conn.database();
        let sql = trigger_sql(database);
        for text in definition.texts() {
            refuse_control(&text)?;
        }
        name_keys(&mut definition, conn)?;
        let period = period(&definition, conn);
        let rows = table(conn, &definition.rows)?;
        if database == MYSQL {
            refuse_wide_foreign_keys(&rows)?;
        }
        // Report a mistake in the day or in a target before one in the condition.
        let when = definition.when.as_deref();
        let condition = when.map(|text| Expression::of_rows(text, &rows, database));
        let day = match &definition.day {
            Some(name) => Some(day_column(&rows, name, sql)?),
            None => None,
        };
        let targets = targets(&definition, period, &rows, conn)?;
        refuse_shared_rows(&rows, &targets)?;
        for target in &targets {
            refuse_table_name(target, database)?;
            // These end up in the SQL too, and don't appear in the definition.
            for column in target.key() {
                refuse_control(&column.name)?;
            }
            for parent in &target.parents {
                refuse_control(&parent.table.name)?;
                refuse_control(&parent.key)?;
            }
        }
        Ok(Counting {
            when: condition.transpose()?,
            targets,
            database,
            sql,
            definition,
            period,
            rows,
            day,
            trigger_indexes: Vec::new(),
        })
    }

    /// Returns the index of the trigger with this name. A trigger that doesn't exist yet runs after
    /// all others.
    pub fn trigger_index(&self, trigger: &str) -> usize {
        let mut indexes = self.trigger_indexes.iter();
        let found = indexes.find(|(name, _)| name == trigger);
        found.map_or(usize::MAX, |(_, index)| *index)
    }

    /// Returns the tables that the triggers read and write: the rows, the counters, and the tables
    /// that these refer to.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        let targets = self.targets.iter().flat_map(|target| {
            let parents = target.parents.iter().map(|parent| &parent.table);
            [&target.table].into_iter().chain(parents)
        });
        [&self.rows].into_iter().chain(targets)
    }

    /// Returns every way in which a row names an entity, each with the target that it counts in.
    pub fn sources(&self) -> impl Iterator<Item = (&Target, &Source)> {
        let targets = self.targets.iter();
        targets.flat_map(|target| target.sources.iter().map(move |source| (target, source)))
    }

    /// Returns the weights and conditions, each with the table that its columns are in. For `only`,
    /// that's the table with the counters.
    pub fn expressions(&self) -> impl Iterator<Item = (&Table, &Expression)> {
        let weights = self.sources().flat_map(|(_, source)| &source.weights);
        let of_rows = weights
            .flatten()
            .chain(&self.when)
            .map(|expression| (&self.rows, expression));
        let of_targets = self
            .targets
            .iter()
            .filter_map(|target| Some((&target.table, target.only.as_ref()?)));
        of_rows.chain(of_targets)
    }

    /// Whether it counts in more than one slot.
    pub fn uses_slots(&self) -> bool {
        let mut targets = self.targets.iter();
        self.definition.slots > 1 && targets.any(|target| target.slots.is_some())
    }

    /// Whether rows can exist before their entity does, until a transaction ends.
    pub fn has_deferrable_parents(&self) -> bool {
        let mut parents = self.targets.iter().flat_map(|target| &target.parents);
        parents.any(|parent| parent.deferrable)
    }

    /// Whether a row that is deleted or moved stays in the counts.
    pub fn keeps_deleted(&self) -> bool {
        self.definition.deleted == Deleted::Kept
    }

    /// Returns the columns of a row that decide what it adds for a source.
    pub fn columns<'c>(&'c self, source: &'c Source) -> Vec<&'c str> {
        let entity = source.entity.iter().map(|entity| &*entity.name);
        let day = self.day.iter().map(|day| &*day.name);
        let weights = source.weights.iter().flatten().chain(&self.when);
        let expressions = weights.flat_map(Expression::columns);
        let mut columns: Vec<_> = entity.chain(day).chain(expressions).collect();
        // The triggers' SQL lists them in this order.
        columns.sort();
        columns.dedup();
        columns
    }

    /// Whether one of the counts depends on a column.
    pub fn uses(&self, column: &str) -> bool {
        let mut sources = self.sources();
        sources.any(|(_, source)| self.columns(source).contains(&column))
    }

    /// Whether an update of a row can change what it adds.
    pub fn has_updates(&self) -> bool {
        let mut sources = self.sources();
        sources.any(|(_, source)| !self.columns(source).is_empty())
    }

    /// Returns the ordinary tables that a BEFORE trigger on MySQL locks: those that a foreign key
    /// of the rows refers to. Otherwise the foreign key would share-lock their rows first. If two
    /// statements both have that lock and both want to update the row, they deadlock.
    pub fn locked_before(&self) -> impl Iterator<Item = &Target> {
        let targets = self.targets.iter();
        let ordinary: Vec<_> = targets.filter(|target| target.slots.is_none()).collect();
        let has_foreign_key = |target: &&Target| target.sources.iter().any(|source| source.exists);
        // It also locks the tables before these, because all triggers lock in the same order.
        let last = ordinary.iter().rposition(has_foreign_key);
        let locked = last.map_or(0, |last| last + 1);
        ordinary.into_iter().take(locked)
    }

    /// Returns the first counter that both definitions count in, with its table.
    pub fn shared_counter(&self, other: &Counting) -> Option<(&Table, &str)> {
        self.counters().find(|(table, name)| {
            let mut others = other.counters();
            others.any(|(other_table, other_name)| table.is(other_table) && *name == other_name)
        })
    }

    /// Returns the names of all counters, each with its table.
    pub fn counters(&self) -> impl Iterator<Item = (&Table, &str)> {
        self.targets.iter().flat_map(|target| {
            let names = target.names.iter();
            names.map(|name| (&target.table, &**name))
        })
    }
}

/// Returns the period that a comment in the database gives for the counter table.
fn period(definition: &Definition, conn: &mut AnyConnection) -> Period {
    for count in &definition.counts {
        // A missing table gets its own error elsewhere.
        let Ok(table) = table(conn, &count.table) else {
            continue;
        };
        let counters = CounterTable::try_from(table).ok();
        if let Some(mark) = counters.and_then(|counters| counters.mark()) {
            return mark.period;
        }
    }
    Period::default()
}

/// Refuses foreign keys of several columns that delete or change the counted rows on MySQL.
fn refuse_wide_foreign_keys(rows: &Table) -> Result<()> {
    for WideForeignKey { name, parent } in &rows.wide_foreign_keys {
        if parent.deletes() || parent.updates() {
            bail!(
                "the foreign key {name} of {rows} has several columns, and deletes or changes \
                 rows. MySQL and MariaDB run no triggers for these rows, so they would not be \
                 counted. Remove its ON DELETE and ON UPDATE first, and delete these rows in the \
                 program"
            );
        }
    }
    Ok(())
}

/// Refuses a table of counters whose name means something else in a trigger.
fn refuse_table_name(target: &Target, database: Database) -> Result<()> {
    let name = &target.table.name;
    let is_any_of = |names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    if database == SQLITE && target.slots.is_some() && is_any_of(&["excluded"]) {
        bail!(
            "SQLite reads the name excluded as the new row of an upsert: rename the counter table"
        );
    }
    if database == MYSQL && is_any_of(&["new", "old"]) {
        bail!(
            "MySQL and MariaDB read the name {name} as a row of the trigger, even in quotes: \
             rename the table"
        );
    }
    Ok(())
}

/// Refuses control characters. A line break, for example, would end an SQL comment.
fn refuse_control(text: &str) -> Result<()> {
    if text.contains(char::is_control) {
        bail!("{text:?} has a control character: remove it");
    }
    Ok(())
}

/// Refuses rows that two tables share: PostgreSQL would run one table's triggers for the other's
/// rows, or run none. And a foreign key doesn't see the rows of a table that inherits.
fn refuse_shared_rows(rows: &Table, targets: &[Target]) -> Result<()> {
    let of_targets = targets.iter().map(|target| &target.table);
    for table in [rows].into_iter().chain(of_targets) {
        if let Some(other) = &table.part_of {
            bail!(
                "{table} is a partition of {other}, or inherits from it: rows that are written \
                 through one of them are not counted, or are counted twice, for the other. Name \
                 the partitioned table itself, or run ALTER TABLE {table} NO INHERIT {other}"
            );
        }
    }
    let of_targets = targets.iter().map(|target| &target.table);
    let of_parents = targets
        .iter()
        .flat_map(|target| &target.parents)
        .map(|parent| &parent.table);
    for table in [rows].into_iter().chain(of_targets).chain(of_parents) {
        if let Some(other) = &table.inherited_by {
            bail!(
                "{other} inherits from {table}: its rows are also in {table}, but foreign keys \
                 and triggers ignore them there. Run ALTER TABLE {other} NO INHERIT {table}, or \
                 partition {table} instead"
            );
        }
    }
    Ok(())
}

/// Looks up the column with a row's day. Fails if its type has no date.
fn day_column(rows: &Table, name: &str, sql: &TriggerSql) -> Result<DayColumn> {
    let column = rows
        .column(name)
        .with_context(|| format!("{rows} has no column {name}{}", rows.did_you_mean(name)))?;
    let plain_type = column.plain_type();
    let Some(known) = sql.days.iter().find(|known| known.sql_type == plain_type) else {
        let sql_type = &column.sql_type;
        bail!("day = \"{name}\": {rows}.{name} is {sql_type}, which is not a date or a time");
    };
    Ok(DayColumn {
        name: name.to_owned(),
        is_nullable: column.nullable,
        in_utc: known.in_utc,
        sql_type: plain_type,
    })
}
