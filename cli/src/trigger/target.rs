//! The counters of one table that rows are counted in, and the columns that name their entities.

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;

use super::Definition;
use super::definition::Count;
use super::expression::{Expression, plain_type};
use crate::catalogue::{Column, CounterTable, Kind, Parent, Table, not_a_counter_table, table};
use crate::connection::AnyConnection;
use crate::database::Database;

/// The counters of one table that a row is counted in.
#[derive(Clone)]
pub struct Target {
    pub table: Table,
    /// The columns of the entity's key.
    pub entity: Vec<Column>,
    /// The day and the slot of a counter table. Otherwise the table has one row for each entity.
    pub slots: Option<[Column; 2]>,
    /// The counters.
    pub names: Vec<String>,
    pub sources: Vec<Source>,
    /// The rows that an entity requires. A counter table's foreign keys refuse counts without them.
    pub parents: Vec<ParentTable>,
    /// The view of the counts that are wrong.
    pub drift: String,
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
}

impl Target {
    /// What the foreign keys of the entity's columns refer to, with the number of the column, from 0.
    /// An ordinary column is in the row itself.
    pub fn parents(&self) -> impl Iterator<Item = (usize, Parent)> {
        let columns = self.entity.iter().enumerate();
        columns.filter_map(|(i, column)| match self.slots {
            Some(_) => Some((i, column.refers_to.clone()?)),
            None => Some((
                i,
                Parent {
                    in_schema: self.table.in_schema.clone(),
                    table: self.table.name.clone(),
                    column: column.name.clone(),
                    on_delete: "CASCADE".to_owned(),
                    on_update: "NO ACTION".to_owned(),
                    deferrable: "NOT DEFERRABLE".to_owned(),
                },
            )),
        })
    }

    fn is_of(&self, other: &Table) -> bool {
        (&self.table.in_schema, &self.table.name) == (&other.in_schema, &other.name)
    }

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
        let mut sources = self.sources.iter();
        let source = sources.position(|source| source.entity == entity);
        let source = source.unwrap_or_else(|| {
            let parents: Vec<_> = self.parents().collect();
            let mut are_same = parents.iter().map(|(i, counted)| {
                let parent = entity[*i].refers_to.as_ref();
                parent.is_some_and(|parent| parent.is_same(counted))
            });
            let exists = !parents.is_empty() && are_same.all(|is_same| is_same);
            self.sources.push(Source {
                weights: vec![None; self.names.len()],
                exists,
                entity,
            });
            self.sources.len() - 1
        });
        self.sources[source].weights[name].replace(weight).is_none()
    }

    /// The counters of the table of this name.
    fn find(name: &str, counter: &str, conn: &mut AnyConnection) -> Result<(Self, String)> {
        let target = |table, entity, slots| Target {
            table,
            entity,
            slots,
            names: Vec::new(),
            sources: Vec::new(),
            parents: Vec::new(),
            drift: String::new(),
        };
        let found = match table(conn, name) {
            Ok(found) => found,
            Err(error) => match conn.database().other((None, name), conn)? {
                None => return Err(error),
                Some(other) => bail!(
                    "{name} is {other}: count in a table that it reads, or in a new one, which \
                     `diesel-counters generate migration` creates"
                ),
            },
        };
        let table = match CounterTable::try_from(found) {
            Ok(counters) => {
                let counter = counters.counter(counter)?.name.clone();
                let slots = Some([counters.day, counters.slot]);
                return Ok((target(counters.table, counters.entity, slots), counter));
            }
            Err(table) => table,
        };
        let column = table.column(counter);
        let Some(column) = column.filter(|column| !table.primary_key.contains(&column.name)) else {
            return Err(not_a_counter_table(&table, conn)?.context(format!(
                "{table} has no column {counter} to count in, besides its key"
            )));
        };
        if !table.holds_counts(column) || column.nullable {
            bail!(
                "{table}.{counter} is {}{}: a column that is counted in is BIGINT NOT NULL DEFAULT 0",
                column.sql_type,
                if column.nullable {
                    ", and may be NULL"
                } else {
                    ""
                }
            );
        }
        let key: Option<Vec<_>> = table
            .primary_key
            .iter()
            .map(|key| table.column(key))
            .collect();
        let key: Vec<_> = key.unwrap_or_default().into_iter().cloned().collect();
        if key.is_empty() {
            bail!("{table} has no primary key: {counter} cannot be counted in it");
        }
        let counter = column.name.clone();
        Ok((target(table, key, None), counter))
    }
}

/// The targets of a definition, ordered by table, so that statements of one trigger lock in the same
/// order.
pub fn targets(
    definition: &Definition,
    rows: &Table,
    dialect: Dialect,
    conn: &mut AnyConnection,
) -> Result<Vec<Target>> {
    let database = conn.database();
    let mut targets: Vec<Target> = Vec::new();
    for count in &definition.counts {
        let (mut found, counter) = Target::find(&count.table, &count.counter, conn)?;
        if let (Some(_), Some(name)) = (
            &found.slots,
            database.foreign_key_of_key(&found.table, conn)?,
        ) {
            bail!(
                "the foreign key {name} of {} has several columns. Triggers count only beside foreign keys of \
                 one column: replace it with one for each column, or drop it and delete the counters in the \
                 program",
                found.table
            );
        }
        let entity = entity(count, &found, rows, database)?;
        refuse_early_rows(&entity, &found, rows)?;
        let text = count.weight.as_ref().unwrap_or(&definition.by);
        let weight = weight(text, rows, dialect)?;
        let mut places = targets.iter();
        let place = match places.position(|target| target.is_of(&found.table)) {
            Some(place) => place,
            None => {
                for (column, parent) in found.parents().collect::<Vec<_>>() {
                    let table = database.parent(&parent, conn)?;
                    found.parents.extend(table.map(|table| ParentTable {
                        column,
                        table,
                        key: parent.column.clone(),
                    }));
                }
                targets.push(found);
                targets.len() - 1
            }
        };
        if !targets[place].add(counter, entity, weight) {
            bail!("--count {count} is there twice");
        }
    }
    targets.sort_by_key(|target| target.table.to_string());
    for (i, target) in targets.iter_mut().enumerate() {
        let drift = format!("{}_drift", definition.name);
        target.drift = match i {
            0 => drift,
            _ => format!("{drift}_{}", i + 1),
        };
    }
    Ok(targets)
}

fn weight(text: &str, rows: &Table, dialect: Dialect) -> Result<Expression> {
    let sql = super::of(dialect);
    let weight = Expression::of_rows(text, rows, sql, dialect)?;
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
            sql.integer
        );
    }
    Ok(weight)
}
/// The columns of the row that name the entity.
fn entity(
    count: &Count,
    target: &Target,
    rows: &Table,
    database: &dyn Database,
) -> Result<Vec<Column>> {
    let (names, table, key) = (&count.columns, &target.table, &target.entity);
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
    if target.slots.is_some() && target.is_of(rows) {
        bail!("{rows} is the counter table itself");
    }
    let columns = names.iter().zip(key);
    columns
        .map(|(name, key)| column_of_entity(name, key, target, rows, database))
        .collect()
}

/// The column of the row that has the values of a column of the counter table's key.
fn column_of_entity(
    name: &str,
    key: &Column,
    target: &Target,
    rows: &Table,
    database: &dyn Database,
) -> Result<Column> {
    let (table, is_slotted) = (&target.table, target.slots.is_some());
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
    let moves = key.refers_to.as_ref().filter(|_| is_slotted);
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
fn refuse_early_rows(entity: &[Column], target: &Target, rows: &Table) -> Result<()> {
    for (column, counted) in target.parents() {
        let (of_rows, key) = (&entity[column], &target.entity[column]);
        let Some(parent) = &of_rows.refers_to else {
            continue;
        };
        let is_early = parent.is_deferrable() && parent.deferrable != counted.deferrable;
        if !(parent.is_same(&counted) && is_early) {
            continue;
        }
        let (table, deferrable) = (&target.table, &parent.deferrable);
        if target.slots.is_none() {
            bail!(
                "the foreign key of {rows}.{} is {deferrable}: a row that is there before its row of {table} \
                 would not be counted in it. Make it NOT DEFERRABLE, or count in a counter table",
                of_rows.name
            );
        }
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
