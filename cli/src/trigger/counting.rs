//! A definition with the tables that it names.

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;

use super::Definition;
use super::expression::Expression;
use crate::catalogue::{Column, CounterTable, Kind, Table, counter_table, table};
use crate::connection::AnyConnection;
use crate::database::{Database, TriggerSql};

/// The rows of a table, and the counters that they are counted in.
pub struct Counting {
    pub database: &'static dyn Database,
    pub definition: Definition,
    pub rows: Table,
    pub when: Option<Expression>,
    pub day: Option<Day>,
    /// Ordered by table, so that statements of one trigger lock in the same order.
    pub targets: Vec<Target>,
}

/// The column with the day of a row.
pub struct Day {
    pub column: String,
    /// SQL of its day in UTC, where `{}` is the column.
    pub in_utc: &'static str,
}

/// The counters of one table that a row is counted in.
#[derive(Clone)]
pub struct Target {
    pub counters: CounterTable,
    /// The counters.
    pub names: Vec<String>,
    pub sources: Vec<Source>,
    /// What the counter table's foreign keys refer to. They refuse counts of an entity that does not
    /// exist.
    pub parents: Vec<ParentTable>,
    /// From 1.
    number: usize,
}

/// What the foreign key of a column of a counter table's key refers to.
#[derive(Clone)]
pub struct ParentTable {
    /// The number of the column in the key, from 0.
    pub column: usize,
    pub table: Table,
    /// The column of the table.
    pub key: String,
}

/// Columns of the row that name an entity. A row that names two of them counts for both.
#[derive(Clone)]
pub struct Source {
    /// A column for each column of the entity's key.
    pub entity: Vec<Column>,
    /// What a row adds to each counter of the target, or `None` for nothing.
    pub weights: Vec<Option<Expression>>,
    /// Whether a foreign key of the rows makes sure that the entity exists.
    pub exists: bool,
    /// From 1.
    number: usize,
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
        if let Some(name) = database.uncounted_foreign_key(&rows, conn)? {
            bail!(
                "the foreign key {name} of {rows} has several columns, and deletes or changes rows. MySQL \
                 and MariaDB run no triggers for these rows, so they would not be counted. Remove its ON \
                 DELETE and ON UPDATE first, and delete these rows in the program"
            );
        }
        let sql = &database.facts().trigger;
        let when = definition.when.as_deref();
        let when = when
            .map(|text| expression(text, &rows, sql, dialect))
            .transpose()?;
        let day = definition.day.as_deref();
        let day = day.map(|name| day_of(&rows, name, sql)).transpose()?;
        let targets = targets(&definition, &rows, dialect, conn)?;
        let mut counting = Counting {
            database,
            definition,
            rows,
            when,
            day,
            targets,
        };
        if dialect == Dialect::PostgreSql && !counting.is_in_one_schema() {
            for table in counting.tables() {
                table.schema = Some(table.in_schema.clone());
            }
        }
        Ok(counting)
    }

    /// Whether all tables are in the schema of the rows, and are found without its name.
    pub fn is_in_one_schema(&self) -> bool {
        let targets = self.targets.iter().flat_map(|target| {
            let parents = target.parents.iter().map(|parent| &parent.table);
            parents.chain([&target.counters.table])
        });
        let schema = &self.rows.in_schema;
        let mut all = targets.chain([&self.rows]);
        all.all(|table| table.schema.is_none() && table.in_schema == *schema)
    }

    fn tables(&mut self) -> impl Iterator<Item = &mut Table> {
        let targets = self.targets.iter_mut().flat_map(|target| {
            let parents = target.parents.iter_mut().map(|parent| &mut parent.table);
            parents.chain([&mut target.counters.table])
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
            names.map(|name| (&target.counters.table, &**name))
        })
    }

    /// Those for which this is true, as `a.likes, b.likes`.
    pub fn counters_that(&self, is: impl Fn(&Table, &str) -> bool) -> String {
        let counters = self.counters().filter(|(table, name)| is(table, name));
        let counters = counters.map(|(table, name)| format!("{table}.{name}"));
        counters.collect::<Vec<_>>().join(", ")
    }
}

impl Target {
    /// The name of the stored counts in a statement. MySQL locks tables by these names, and each
    /// table requires another one.
    pub fn stored_alias(&self) -> String {
        format!("stored_{}", self.number)
    }

    /// The same with one counter only.
    pub fn of_counter(&self, i: usize) -> Self {
        let sources = self.sources.iter().map(|source| Source {
            weights: vec![source.weights[i].clone()],
            ..source.clone()
        });
        Target {
            names: vec![self.names[i].clone()],
            sources: sources
                .filter(|source| source.weights[0].is_some())
                .collect(),
            ..self.clone()
        }
    }
}

impl Source {
    /// The names of the rows, and of the parent table, in a statement. MySQL locks tables by these,
    /// too.
    pub fn alias(&self) -> String {
        format!("counted_{}", self.number)
    }

    pub fn parent_alias(&self, column: usize) -> String {
        match column {
            0 => format!("parent_{}", self.number),
            _ => format!("parent_{}_{}", self.number, column + 1),
        }
    }
}

fn targets(
    definition: &Definition,
    rows: &Table,
    dialect: Dialect,
    conn: &mut AnyConnection,
) -> Result<Vec<Target>> {
    let database = conn.database();
    let mut targets: Vec<Target> = Vec::new();
    for count in &definition.counts {
        let counters = counter_table(conn, &count.table)?;
        let counter = counters.counter(&count.counter)?.name.clone();
        if let Some(name) = database.foreign_key_of_key(&counters.table, conn)? {
            bail!(
                "the foreign key {name} of {} has several columns. Triggers count only beside foreign keys of \
                 one column: replace it with one for each column, or drop it and delete the counters in the \
                 program",
                counters.table
            );
        }
        let entity = entity(&count.columns, &counters, rows, database)?;
        refuse_early_rows(&entity, &counters, rows)?;
        let weight = count.weight.as_ref().unwrap_or(&definition.by);
        let text = weight;
        let weight = expression(text, rows, &database.facts().trigger, dialect)?;
        let column = rows.column(text);
        let has_fraction = |column: &&Column| {
            let sql_type = plain_type(column);
            column.kind == Kind::Real || ["numeric", "decimal"].contains(&&*sql_type)
        };
        if let Some(column) = column.filter(has_fraction) {
            bail!(
                "{rows}.{text} is {}, and a counter has whole numbers. Give it whole numbers, such as \
                 \"CAST({text} * 100 AS {})\"",
                column.sql_type,
                database.facts().trigger.integer
            );
        }
        let place = targets
            .iter()
            .position(|target| target.counters == counters);
        let target = match place {
            Some(place) => &mut targets[place],
            None => {
                let mut parents = Vec::new();
                for (column, parent) in counters.parents() {
                    parents.extend(database.parent(parent, conn)?.map(|table| ParentTable {
                        column,
                        table,
                        key: parent.column.clone(),
                    }));
                }
                targets.push(Target {
                    parents,
                    counters,
                    names: Vec::new(),
                    sources: Vec::new(),
                    number: 0,
                });
                targets.last_mut().context("just added")?
            }
        };
        if !target.add(counter, entity, weight) {
            bail!("--count {count} is there twice");
        }
    }
    targets.sort_by_key(|target| target.counters.table.to_string());
    for (i, target) in targets.iter_mut().enumerate() {
        target.number = i + 1;
    }
    let sources = targets.iter_mut().flat_map(|target| &mut target.sources);
    for (i, source) in sources.enumerate() {
        source.number = i + 1;
    }
    Ok(targets)
}

impl Target {
    /// Returns whether the entity was not counted in this counter before.
    fn add(&mut self, counter: String, entity: Vec<Column>, weight: Expression) -> bool {
        let name = self.names.iter().position(|name| *name == counter);
        let name = name.unwrap_or_else(|| {
            self.names.push(counter);
            for source in &mut self.sources {
                source.weights.push(None);
            }
            self.names.len() - 1
        });
        let source = self
            .sources
            .iter()
            .position(|source| source.entity == entity);
        let source = source.unwrap_or_else(|| {
            let mut parents = self.counters.parents().peekable();
            let exists = parents.peek().is_some()
                && parents.all(|(i, counted)| {
                    let parent = entity[i].refers_to.as_ref();
                    parent.is_some_and(|parent| parent.is_same(counted))
                });
            self.sources.push(Source {
                weights: vec![None; self.names.len()],
                exists,
                entity,
                number: 0,
            });
            self.sources.len() - 1
        });
        self.sources[source].weights[name].replace(weight).is_none()
    }
}

/// The columns of the row that name the entity.
fn entity(
    names: &[String],
    counters: &CounterTable,
    rows: &Table,
    database: &dyn Database,
) -> Result<Vec<Column>> {
    let (table, key) = (&counters.table, &counters.entity);
    if key.is_empty() && !names.is_empty() {
        bail!(
            "{table} counts for one thing only: write --count {table}.COUNTER, without {}",
            names.join(",")
        );
    }
    if key.len() != names.len() {
        let columns: Vec<_> = key.iter().map(|column| &*column.name).collect();
        bail!(
            "{table} counts for each {}: write --count {}:{table}.COUNTER, with the column{} of {rows} that \
             name{} it",
            columns.join(", "),
            vec!["COLUMN"; key.len()].join(","),
            if key.len() == 1 { "" } else { "s" },
            if key.len() == 1 { "s" } else { "" },
        );
    }
    if rows.in_schema == table.in_schema && rows.name == table.name {
        bail!("{rows} is the counter table itself");
    }
    let columns = names.iter().zip(key);
    columns
        .map(|(name, key)| column_of_entity(name, key, table, rows, database))
        .collect()
}

/// The column of the row that has the values of a column of the counter table's key.
fn column_of_entity(
    name: &str,
    key: &Column,
    table: &Table,
    rows: &Table,
    database: &dyn Database,
) -> Result<Column> {
    let column = rows
        .column(name)
        .with_context(|| format!("{rows} has no column {name}"))?;
    let [of_rows, of_key] = [column, key].map(|column| database.stored_as(column.kind));
    if !of_rows.fits(of_key) {
        bail!(
            "{rows}.{name} is {}, and {table}.{} is {}: it cannot have the same values",
            column.sql_type,
            key.name,
            key.sql_type
        );
    }
    if column.loose_collation != key.loose_collation {
        bail!(
            "{rows}.{name} and {table}.{} have different collations: a text could be one entity in \
             the one, and two in the other. Give them the same collation first",
            key.name
        );
    }
    // A trigger cannot tell such an update of the rows from one that moves a count.
    let moves = key.refers_to.as_ref();
    if let Some(parent) = moves.filter(|parent| parent.on_update == "CASCADE") {
        bail!(
            "the foreign key of {table}.{} has ON UPDATE CASCADE: an update of {}.{} would count its \
             rows twice. Remove ON UPDATE CASCADE first",
            key.name,
            parent.table,
            parent.column
        );
    }
    Ok(column.clone())
}

/// A row that can be there before its entity is counted before it, too.
fn refuse_early_rows(entity: &[Column], counters: &CounterTable, rows: &Table) -> Result<()> {
    for (column, counted) in counters.parents() {
        let (of_rows, key) = (&entity[column], &counters.entity[column]);
        let Some(parent) = &of_rows.refers_to else {
            continue;
        };
        let is_early = parent.is_deferrable() && parent.deferrable != counted.deferrable;
        if !(parent.is_same(counted) && is_early) {
            continue;
        }
        let (table, deferrable) = (&counters.table, &parent.deferrable);
        bail!(
            "the foreign key of {rows}.{} is {deferrable}, and that of {table}.{} is {}: it would refuse \
             the count of a row that is there before its row of {}. Make it {deferrable} too, with ALTER \
             TABLE {table} ALTER CONSTRAINT",
            of_rows.name,
            key.name,
            counted.deferrable,
            parent.table
        );
    }
    Ok(())
}

fn expression(text: &str, rows: &Table, sql: &TriggerSql, dialect: Dialect) -> Result<Expression> {
    let expression = Expression::parse(text, rows, dialect)?;
    let mut columns = expression.values().filter_map(|name| rows.column(name));
    let zoned = columns.find(|column| Some(&*plain_type(column)) == sql.zoned);
    if let Some(column) = zoned {
        bail!(
            "the SQL expression {text:?} has {}, whose value depends on the time zone of the session",
            column.name
        );
    }
    drop(columns);
    Ok(expression)
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

/// `timestamp without time zone` of `timestamp(3) without time zone`.
fn plain_type(column: &Column) -> String {
    let mut sql_type = column.sql_type.to_lowercase();
    if let (Some(begin), Some(end)) = (sql_type.find('('), sql_type.find(')')) {
        sql_type.replace_range(begin..=end, "");
    }
    sql_type
}
