//! A definition with the tables that it names.

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;

use super::Expression;
use super::definition::Definition;
use super::expression::plain_type;
use super::sql::{self, TriggerSql};
use super::target::{Source, Target};
use super::targets::targets;
use crate::catalogue::{Table, rows_table, uncounted_foreign_key};
use crate::connection::AnyConnection;
use crate::database::Database;

/// The rows of a table, and the counters that they are counted in.
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
pub struct Day {
    pub column: String,
    /// SQL of its day in UTC, where `{}` is the column.
    pub in_utc: &'static str,
}

impl Counting {
    pub fn new(definition: Definition, conn: &mut AnyConnection) -> Result<Self> {
        let (database, dialect) = (conn.database(), conn.dialect());
        let sql = sql::of(dialect);
        // A new line would end a comment of the SQL, and lines are indented.
        if let Some(text) = definition
            .texts()
            .find(|text| text.contains(char::is_control))
        {
            bail!("{text:?} has a control character: write it without");
        }
        let rows = rows_table(conn, &definition.rows)?;
        if let Some(name) = uncounted_foreign_key(&rows, conn)? {
            bail!(
                "the foreign key {name} of {rows} has several columns, and deletes or changes rows. MySQL \
                 and MariaDB run no triggers for these rows, so they would not be counted. Remove its ON \
                 DELETE and ON UPDATE first, and delete these rows in the program"
            );
        }
        let when = definition.when.as_deref();
        let when = when.map(|text| Expression::of_rows(text, &rows, sql, dialect));
        let day = definition.day.as_deref();
        let day = day.map(|name| day_of(&rows, name, sql)).transpose()?;
        let mut counting = Counting {
            when: when.transpose()?,
            targets: targets(&definition, &rows, dialect, conn)?,
            database,
            sql,
            definition,
            rows,
            day,
        };
        if dialect == Dialect::PostgreSql && !counting.is_in_one_schema() {
            for table in counting.tables() {
                table.schema = Some(table.in_schema.clone());
            }
        }
        Ok(counting)
    }

    /// Whether all tables are in the schema of the rows, and are found without its name.
    fn is_in_one_schema(&self) -> bool {
        let targets = self.targets.iter().flat_map(|target| {
            let parents = target.parents.iter().map(|parent| &parent.table);
            parents.chain([&target.table])
        });
        let schema = &self.rows.in_schema;
        let mut all = targets.chain([&self.rows]);
        all.all(|table| table.schema.is_none() && table.in_schema == *schema)
    }

    fn tables(&mut self) -> impl Iterator<Item = &mut Table> {
        let targets = self.targets.iter_mut().flat_map(|target| {
            let parents = target.parents.iter_mut().map(|parent| &mut parent.table);
            parents.chain([&mut target.table])
        });
        targets.chain([&mut self.rows])
    }

    /// The weights and the condition.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let sources = self.targets.iter().flat_map(|target| &target.sources);
        let weights = sources.flat_map(|source| source.weights.iter().flatten());
        weights.chain(&self.when)
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

    /// Whether an update of a row can change what it adds.
    pub fn has_updates(&self) -> bool {
        let mut sources = self.targets.iter().flat_map(|target| &target.sources);
        sources.any(|source| !self.columns(source).is_empty())
    }

    /// Whether one of the counters is in this table.
    pub fn counts_in(&self, table: &Table) -> bool {
        self.targets.iter().any(|target| target.is_of(table))
    }

    /// A counter of both.
    pub fn shared_counter(&self, other: &Counting) -> Option<(&Table, &str)> {
        let is_same = |a: &Table, b: &Table| (&a.in_schema, &a.name) == (&b.in_schema, &b.name);
        self.counters().find(|(table, name)| {
            let mut others = other.counters();
            others.any(|(other, other_name)| is_same(table, other) && *name == other_name)
        })
    }

    /// Each counter, as its table and its name.
    pub fn counters(&self) -> impl Iterator<Item = (&Table, &str)> {
        self.targets.iter().flat_map(|target| {
            let names = target.names.iter();
            names.map(|name| (&target.table, &**name))
        })
    }

    /// Those for which this is true, as `a.likes, b.likes`.
    pub fn counters_that(&self, is: impl Fn(&Table, &str) -> bool) -> String {
        let counters = self.counters().filter(|(table, name)| is(table, name));
        let counters = counters.map(|(table, name)| format!("{table}.{name}"));
        counters.collect::<Vec<_>>().join(", ")
    }
}

fn day_of(rows: &Table, name: &str, sql: &TriggerSql) -> Result<Day> {
    let column = rows
        .column(name)
        .with_context(|| format!("{rows} has no column {name}"))?;
    let sql_type = plain_type(column);
    let mut known = sql.days.iter();
    match known.find(|(known, _)| *known == sql_type) {
        Some((_, in_utc)) => Ok(Day {
            column: column.name.clone(),
            in_utc,
        }),
        None => bail!(
            "--day {name}: {rows}.{name} is {}, and not a date or a time",
            column.sql_type
        ),
    }
}
