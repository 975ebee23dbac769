//! A definition with the tables that it names.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;

use super::Expression;
use super::definition::{Definition, Deleted};
use super::sql::{self as trigger_sql, TriggerSql};
use super::target::{Source, Target};
use super::targets::targets;
use crate::catalogue::{Parent, Table, table};
use crate::connection::AnyConnection;
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
use crate::sql::sql;

/// The rows of a table, and the counters that they are counted in.
#[derive(Clone)]
pub struct Counting {
    pub database: Database,
    pub sql: &'static TriggerSql,
    pub definition: Definition,
    pub rows: Table,
    pub when: Option<Expression>,
    pub day: Option<Day>,
    pub targets: Vec<Target>,
}

/// The column with the day of a row.
#[derive(Clone)]
pub struct Day {
    pub column: String,
    /// SQL of its day in UTC, where `{}` is the column.
    in_utc: &'static str,
}

impl Day {
    /// The day of the row `row`, as SQL.
    pub fn of(&self, row: &str, database: Database) -> String {
        let column = database.column(row, &self.column);
        self.in_utc.replace("{}", &column)
    }
}

impl Counting {
    pub fn new(mut definition: Definition, conn: &mut AnyConnection) -> Result<Self> {
        let database = conn.database();
        let sql = trigger_sql::of(database);
        for text in definition.texts() {
            refuse_control(&text)?;
        }
        let rows = table(conn, &definition.rows)?;
        let mut wide = rows.wide_foreign_keys.iter();
        let acts = |(_, parent): &&(_, Parent)| parent.deletes() || parent.updates();
        if let Some((name, _)) = wide.find(acts).filter(|_| database == MYSQL) {
            bail!(
                "the foreign key {name} of {rows} has several columns, and deletes or changes rows. MySQL \
                 and MariaDB run no triggers for these rows, so they would not be counted. Remove its ON \
                 DELETE and ON UPDATE first, and delete these rows in the program"
            );
        }
        let when = definition.when.as_deref();
        let when = when.map(|text| Expression::of_rows(text, &rows, database));
        let day = definition.day.as_deref();
        let day = day.map(|name| day_of(&rows, name, sql)).transpose()?;
        let targets = targets(&definition, &rows, conn)?;
        refuse_shared_rows(&rows, &targets)?;
        for target in &targets {
            let is_new_row = target.table.name.eq_ignore_ascii_case("excluded");
            if database == SQLITE && is_new_row && target.slots.is_some() {
                bail!(
                    "SQLite takes the name excluded for the new row of an upsert: rename the counter table"
                );
            }
            let columns = target.entity.iter().chain(target.slots.iter().flatten());
            let of_parents = target.parents.iter().map(|parent| &parent.table.name);
            let keys = target.parents.iter().map(|parent| &parent.key);
            let names = columns
                .map(|column| &column.name)
                .chain(of_parents)
                .chain(keys);
            for name in names {
                refuse_control(name)?;
            }
        }
        let counts = definition.counts.iter_mut();
        for count in counts.filter(|_| database == POSTGRES) {
            let is_other = |table: &&Table| {
                let is_found = table.schema.is_none() && table.name == count.table;
                is_found && table.in_schema != rows.in_schema
            };
            let mut targets = targets.iter().map(|target| &target.table);
            // The session's path can be another one later.
            if let Some(table) = targets.find(is_other) {
                count.table = format!("{}.{}", table.in_schema, table.name);
            }
        }
        Ok(Counting {
            when: when.transpose()?,
            targets,
            database,
            sql,
            definition,
            rows,
            day,
        })
    }

    /// The tables that the triggers read and write: the rows, the counters and what these refer to.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        let targets = self.targets.iter().flat_map(|target| {
            let parents = target.parents.iter().map(|parent| &parent.table);
            [&target.table].into_iter().chain(parents)
        });
        [&self.rows].into_iter().chain(targets)
    }

    /// Fails if a policy can hide rows from the triggers, which run as the owner of the tables.
    pub fn refuse_hidden_rows(&self, conn: &mut AnyConnection) -> Result<()> {
        if self.database != POSTGRES {
            return Ok(());
        }
        let (rows, name) = (&self.rows, |table| POSTGRES.table_name(table));
        for table in self.tables() {
            let forced = sql(
                "SELECT c.relrowsecurity AND (c.relforcerowsecurity OR c.relowner <> r.oid) \
                     AND NOT r.rolsuper AND NOT r.rolbypassrls \
                 FROM pg_class c, pg_class o JOIN pg_roles r ON r.oid = o.relowner \
                 WHERE c.oid = CAST(to_regclass(",
            );
            let forced = forced.bind(&name(table));
            let forced = forced.sql(") AS oid) AND o.oid = CAST(to_regclass(");
            let forced = forced.bind(&name(rows)).sql(") AS oid)");
            if forced.typed::<Bool>().get_result::<bool>(conn)? {
                bail!(
                    "{table} has ROW LEVEL SECURITY for the owner of {rows} too: its policies hide rows, which \
                     would not be counted. Let one role own both, run ALTER TABLE {table} NO FORCE ROW LEVEL \
                     SECURITY, and let the program use another role than the owner"
                );
            }
        }
        Ok(())
    }

    pub fn sources(&self) -> impl Iterator<Item = (&Target, &Source)> {
        let targets = self.targets.iter();
        targets.flat_map(|target| target.sources.iter().map(move |source| (target, source)))
    }

    /// The weights and the conditions, with the table of their columns.
    pub fn expressions(&self) -> impl Iterator<Item = (&Table, &Expression)> {
        let weights = self.sources().flat_map(|(_, source)| &source.weights);
        let of_rows = weights.flatten().chain(&self.when);
        let of_rows = of_rows.map(|expression| (&self.rows, expression));
        let targets = self.targets.iter();
        of_rows.chain(targets.filter_map(|target| Some((&target.table, target.only.as_ref()?))))
    }

    /// Whether a row that is deleted or moved stays in the counts.
    pub fn keeps_deleted(&self) -> bool {
        self.definition.deleted == Deleted::Kept
    }

    /// The columns of the row that decide what it adds for a source.
    pub fn columns<'c>(&'c self, source: &'c Source) -> Vec<&'c str> {
        let entity = source.entity.iter().map(|entity| &*entity.name);
        let day = self.day.iter().map(|day| &*day.column);
        let weights = source.weights.iter().flatten().chain(&self.when);
        let expressions = weights.flat_map(Expression::columns);
        let mut columns: Vec<_> = entity.chain(day).chain(expressions).collect();
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

    /// The targets that a BEFORE trigger of MySQL locks: those that a foreign key of the rows
    /// refers to, and those before them. Otherwise the foreign key share-locks their rows first,
    /// and two statements that wait for each other to end that deadlock.
    pub fn locked_before(&self) -> impl Iterator<Item = &Target> {
        let is_sure = |target: &Target| target.sources.iter().any(|source| source.exists);
        let in_column = |target: &Target| target.slots.is_none();
        let mut targets = self.targets.iter();
        let last = targets.rposition(|target| in_column(target) && is_sure(target));
        let until = last.map_or(0, |last| last + 1);
        let targets = self.targets[..until].iter();
        targets.filter(move |target| in_column(target))
    }

    /// A counter of both.
    pub fn shared_counter(&self, other: &Counting) -> Option<(&Table, &str)> {
        self.counters().find(|(table, name)| {
            let mut others = other.counters();
            others.any(|(other, other_name)| table.is(other) && *name == other_name)
        })
    }

    pub fn counters(&self) -> impl Iterator<Item = (&Table, &str)> {
        self.targets.iter().flat_map(|target| {
            let names = target.names.iter();
            names.map(|name| (&target.table, &**name))
        })
    }
}

/// A new line would end a comment of the SQL, and lines are indented.
fn refuse_control(text: &str) -> Result<()> {
    if text.contains(char::is_control) {
        bail!("{text:?} has a control character: write it without");
    }
    Ok(())
}

/// PostgreSQL runs the triggers of one table for the rows of another one, or runs none. A foreign
/// key does not see the rows of a table that inherits.
fn refuse_shared_rows(rows: &Table, targets: &[Target]) -> Result<()> {
    let of_targets = targets.iter().map(|target| &target.table);
    for table in [rows].into_iter().chain(of_targets) {
        if let Some(other) = &table.part_of {
            bail!(
                "{table} is a partition of {other}, or inherits from it: rows that are written by the name of one \
                 are not counted, or counted twice, for the other. Name the partitioned table itself, or run \
                 ALTER TABLE {table} NO INHERIT {other}"
            );
        }
    }
    let parents = targets.iter().flat_map(|target| &target.parents);
    let parents = parents.map(|parent| &parent.table);
    let of_targets = targets.iter().map(|target| &target.table);
    for table in [rows].into_iter().chain(of_targets).chain(parents) {
        if let Some(other) = &table.inherited_by {
            bail!(
                "{other} inherits from {table}: its rows are those of {table}, too, but not for foreign keys and \
                 triggers. Run ALTER TABLE {other} NO INHERIT {table}, or partition {table} instead"
            );
        }
    }
    Ok(())
}

fn day_of(rows: &Table, name: &str, sql: &TriggerSql) -> Result<Day> {
    let column = rows.column(name);
    let column = column.with_context(|| format!("{rows} has no column {name}"))?;
    let (sql_type, plain_type) = (&column.sql_type, column.plain_type());
    let Some((_, in_utc)) = sql.days.iter().find(|(known, _)| *known == plain_type) else {
        bail!("day = \"{name}\": {rows}.{name} is {sql_type}, and not a date or a time");
    };
    let column = name.to_owned();
    Ok(Day { column, in_utc })
}
