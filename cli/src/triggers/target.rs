//! The counters of one table that rows are counted in, and the columns that name their entities.

use super::expression::Expression;
use crate::catalogue::{Column, Parent, Table};
use crate::database::SQLITE;

/// The counters of one table that a row is counted in.
#[derive(Clone, Default)]
pub struct Target {
    pub table: Table,
    /// The columns of the entity's key.
    pub entity: Vec<Column>,
    /// The columns of a counter table. Otherwise the table has one row for each entity.
    pub slots: Option<DayAndSlot>,
    /// The condition of the rows of an ordinary table in which rows are counted.
    pub only: Option<Expression>,
    pub names: Vec<String>,
    pub sources: Vec<Source>,
    /// The rows that an entity requires. A counter table's foreign keys refuse counts without them.
    pub parents: Vec<ParentTable>,
}

/// The columns of a counter table's key behind those of the entity.
#[derive(Clone)]
pub struct DayAndSlot {
    pub day: Column,
    pub slot: Column,
}

/// What the foreign key of a column of a counter table's key refers to.
#[derive(Clone)]
pub struct ParentTable {
    /// The number of the column in the key, from 0.
    pub column: usize,
    pub table: Table,
    /// The column of the table.
    pub key: String,
    /// Whether the foreign key lets a row come before the one that it refers to.
    pub deferrable: bool,
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

impl Source {
    /// Whether each row that counts changes a counter.
    pub fn has_one(&self) -> bool {
        self.weights.iter().flatten().any(Expression::is_one)
    }
}

impl Target {
    /// What the foreign keys of the entity's columns refer to, with the number of the column, from
    /// 0. An ordinary column is in the row itself, and goes when the row is deleted.
    pub fn parents(&self) -> impl Iterator<Item = (usize, Parent)> {
        let of_row = |column: &Column| Parent {
            in_schema: self.table.in_schema.clone(),
            table: self.table.name.clone(),
            column: column.name.clone(),
            on_delete: "CASCADE".to_owned(),
            on_update: "NO ACTION".to_owned(),
            deferrable: "NOT DEFERRABLE".to_owned(),
            valid: true,
        };
        let parents = move |column: &Column| match self.slots {
            Some(_) => column.parents().cloned().collect(),
            None => vec![of_row(column)],
        };
        let columns = self.entity.iter().enumerate();
        columns.flat_map(move |(place, column)| {
            let of_column = parents(column).into_iter();
            of_column.map(move |parent| (place, parent))
        })
    }

    /// The columns of the primary key of a counter table, or of the key of an ordinary one.
    pub fn key(&self) -> impl Iterator<Item = &Column> {
        let slots = self.slots.iter();
        let day_and_slot = slots.flat_map(|slots| [&slots.day, &slots.slot]);
        self.entity.iter().chain(day_and_slot)
    }

    /// Whether a CHECK of SQLite keeps anything but integers out of a counter.
    pub fn has_integers_only(&self, counter: &str) -> bool {
        self.table.has_integers_only(counter, SQLITE)
    }

    /// The same, which counts in one of its counters only.
    pub fn only_counter(&self, place: usize) -> Target {
        let mut target = self.clone();
        target.names = vec![self.names[place].clone()];
        for source in &mut target.sources {
            source.weights = vec![source.weights[place].take()];
        }
        target.sources.retain(|source| source.weights[0].is_some());
        target
    }

    /// Whether rows can name an entity that has no row here, or one in which they are not counted.
    pub fn can_lack_entities(&self) -> bool {
        let is_sure = self.sources.iter().all(|source| source.exists);
        self.slots.is_none() && (self.only.is_some() || !is_sure)
    }

    /// Adds what a row counts for. Returns whether the entity was not counted in this counter
    /// before.
    pub fn add(&mut self, counter: String, entity: Vec<Column>, weight: Expression) -> bool {
        let name = self.place_of_name(counter);
        let source = self.place_of_source(entity);
        self.sources[source].weights[name].replace(weight).is_none()
    }

    /// The place of a counter in `names`, in which it is afterwards. Each source has a weight, or
    /// none, for each name.
    fn place_of_name(&mut self, counter: String) -> usize {
        if let Some(place) = self.names.iter().position(|name| *name == counter) {
            return place;
        }
        self.names.push(counter);
        for source in &mut self.sources {
            source.weights.push(None);
        }
        self.names.len() - 1
    }

    /// The place of the source with these columns in `sources`, in which it is afterwards.
    fn place_of_source(&mut self, entity: Vec<Column>) -> usize {
        let mut sources = self.sources.iter();
        if let Some(place) = sources.position(|source| source.entity == entity) {
            return place;
        }
        let parents: Vec<_> = self.parents().collect();
        let is_sure = |(place, counted): &(usize, Parent)| {
            let mut parents = entity[*place].parents();
            parents.any(|parent| parent.valid && parent.is_same(counted))
        };
        let exists = !parents.is_empty() && parents.iter().all(is_sure);
        self.sources.push(Source {
            weights: vec![None; self.names.len()],
            exists,
            entity,
        });
        self.sources.len() - 1
    }
}
