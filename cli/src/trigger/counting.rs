//! A definition with the tables that it names.

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;

use super::Definition;
use super::expression::Expression;
use crate::catalogue::{Column, CounterTable, Table, counter_table, table};
use crate::connection::AnyConnection;
use crate::database::{Database, TriggerSql};

/// The rows of a table, and the counters that they are counted in.
pub struct Counting {
    pub database: &'static dyn Database,
    pub definition: Definition,
    pub rows: Table,
    pub when: Option<Expression>,
    /// SQL of a row's day, where `{}` is the column, and the column.
    pub day: Option<(&'static str, String)>,
    /// Ordered by table, so that all triggers lock in the same order.
    pub targets: Vec<Target>,
}

/// The counters of one table that a row is counted in, for one entity.
#[derive(Clone)]
pub struct Target {
    pub counters: CounterTable,
    /// The column of the row that names the entity.
    pub entity: Option<Column>,
    pub weights: Vec<Weight>,
    /// The table that the counter table's foreign key refers to, and the column. The foreign key
    /// refuses counts of an entity that no longer exists.
    pub parent: Option<(Table, String)>,
    /// From 1.
    pub number: usize,
}

#[derive(Clone)]
pub struct Weight {
    pub counter: String,
    pub value: Expression,
}

impl Counting {
    pub fn new(definition: Definition, conn: &mut AnyConnection) -> Result<Self> {
        let (database, dialect) = (conn.database(), conn.dialect());
        // A new line would end a comment of the SQL, and lines are indented.
        if let Some(text) = definition
            .texts()
            .find(|text| text.contains(char::is_control))
        {
            bail!("{text:?} has a control character: write it without");
        }
        let rows = table(conn, &definition.rows)?;
        let when = definition.when.as_deref();
        let when = when
            .map(|text| Expression::parse(text, &rows, dialect))
            .transpose()?;
        let day = definition.day.as_deref();
        let day = day
            .map(|name| day_of(&rows, name, &database.facts().trigger))
            .transpose()?;
        let targets = targets(&definition, &rows, dialect, conn)?;
        Ok(Counting {
            database,
            definition,
            rows,
            when,
            day,
            targets,
        })
    }
}

impl Target {
    /// The names of the stored counts, and of the parent table, in a statement. MySQL locks tables by
    /// these names, and each table requires another one.
    pub fn stored_alias(&self) -> String {
        format!("stored_{}", self.number)
    }

    pub fn parent_alias(&self) -> String {
        format!("parent_{}", self.number)
    }

    /// Whether a foreign key of the rows makes sure that the entity exists.
    pub fn has_same_parent(&self) -> bool {
        let of_rows = self
            .entity
            .as_ref()
            .and_then(|column| column.refers_to.as_ref());
        let pair = of_rows.zip(self.counters.parent.as_ref());
        pair.is_some_and(|(of_rows, parent)| of_rows.is_same(parent))
    }
}

fn targets(
    definition: &Definition,
    rows: &Table,
    dialect: Dialect,
    conn: &mut AnyConnection,
) -> Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    for count in &definition.counts {
        let counters = counter_table(conn, &count.table)?;
        let counter = counters.counter(&count.counter)?.name.clone();
        let entity = entity(count.column.as_deref(), &counters, rows)?;
        let weight = count.weight.as_ref().unwrap_or(&definition.by);
        let value = Expression::parse(weight, rows, dialect)?;
        let weight = Weight { counter, value };
        let same = targets
            .iter_mut()
            .find(|target| target.counters == counters && target.entity == entity);
        match same {
            Some(target) => {
                let mut counters = target.weights.iter();
                if counters.any(|other| other.counter == weight.counter) {
                    bail!("--count {count} is there twice");
                }
                target.weights.push(weight);
            }
            None => {
                let parent = match &counters.parent {
                    Some(parent) => conn.database().parent(parent, conn)?,
                    None => None,
                };
                let key = counters.parent.as_ref().map(|parent| parent.column.clone());
                targets.push(Target {
                    parent: parent.zip(key),
                    counters,
                    entity,
                    weights: vec![weight],
                    number: 0,
                });
            }
        }
    }
    let name = |target: &Target| target.counters.table.to_string();
    targets.sort_by_key(name);
    for (i, target) in targets.iter_mut().enumerate() {
        target.number = i + 1;
    }
    Ok(targets)
}

/// The column of the row that names the entity.
fn entity(name: Option<&str>, counters: &CounterTable, rows: &Table) -> Result<Option<Column>> {
    let table = &counters.table;
    let (key, name) = match (&counters.entity, name) {
        (None, None) => return Ok(None),
        (Some(key), Some(name)) => (key, name),
        (None, Some(name)) => bail!(
            "{table} counts for one thing only: write --count {table}.COUNTER, without {name}"
        ),
        (Some(key), None) => bail!(
            "{table} counts for each {}: write --count COLUMN:{table}.COUNTER, with the column of \
             {rows} that names it",
            key.name
        ),
    };
    let column = rows
        .column(name)
        .with_context(|| format!("{rows} has no column {name}"))?;
    if !column.kind.is_like(key.kind) {
        bail!(
            "{rows}.{name} is {}, and {table}.{} is {}",
            column.sql_type,
            key.name,
            key.sql_type
        );
    }
    if rows.in_schema == table.in_schema && rows.name == table.name {
        bail!("{rows} is the counter table itself");
    }
    // A trigger cannot tell such an update of the rows from one that moves a count.
    let moves = counters
        .parent
        .as_ref()
        .filter(|parent| parent.on_update == "CASCADE");
    if let Some(parent) = moves {
        bail!(
            "the foreign key of {table}.{} has ON UPDATE CASCADE: an update of {}.{} would count its \
             rows twice. Remove ON UPDATE CASCADE first",
            key.name,
            parent.table,
            parent.column
        );
    }
    Ok(Some(column.clone()))
}

fn day_of(rows: &Table, name: &str, sql: &TriggerSql) -> Result<(&'static str, String)> {
    let column = rows
        .column(name)
        .with_context(|| format!("{rows} has no column {name}"))?;
    // `timestamp(3) without time zone`
    let mut sql_type = column.sql_type.to_lowercase();
    if let (Some(begin), Some(end)) = (sql_type.find('('), sql_type.find(')')) {
        sql_type.replace_range(begin..=end, "");
    }
    let mut known = sql.days.iter();
    match known.find(|(known, _)| *known == sql_type) {
        Some((_, as_day)) => Ok((as_day, column.name.clone())),
        None => bail!(
            "--day {name}: {rows}.{name} is {}, and not a date or a time",
            column.sql_type
        ),
    }
}
