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
    /// The day and the slot of a counter table. `None` if the table has one row per entity.
    pub slots: Option<DayAndSlot>,
    /// The condition for rows of an ordinary table to be counted in.
    pub only: Option<Expression>,
    pub names: Vec<String>,
    pub sources: Vec<Source>,
    /// The rows that an entity needs. Without them, a counter table's foreign keys refuse its
    /// counts.
    pub parents: Vec<ParentTable>,
}

/// The columns after the entity in a counter table's key.
#[derive(Clone)]
pub struct DayAndSlot {
    pub day: Column,
    pub slot: Column,
}

/// What a foreign key of one of a counter table's key columns refers to.
#[derive(Clone)]
pub struct ParentTable {
    /// The number of the column in the key, from 0.
    pub column: usize,
    pub table: Table,
    /// The column that it refers to.
    pub key: String,
    /// Whether the foreign key lets a row come before the one that it refers to.
    pub deferrable: bool,
}

/// Columns of a row that name an entity. If a row names two entities, it counts for both.
#[derive(Clone)]
pub struct Source {
    /// A column for every column of the entity's key.
    pub entity: Vec<Column>,
    /// What a row adds to every counter of the target. `None` if it adds nothing.
    pub weights: Vec<Option<Expression>>,
    /// Whether a foreign key of the rows makes sure that the entity exists.
    pub exists: bool,
}

impl Source {
    /// Whether every row that counts changes a counter.
    pub fn has_one(&self) -> bool {
        self.weights.iter().flatten().any(Expression::is_one)
    }
}

impl Target {
    /// Returns what the foreign keys of the entity's columns refer to, with the number of the
    /// column, from 0. For an ordinary column, that's the row itself: the count is deleted with it.
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
        columns.flat_map(move |(index, column)| {
            let of_column = parents(column).into_iter();
            of_column.map(move |parent| (index, parent))
        })
    }

    /// Returns the columns of a counter table's primary key, or of an ordinary table's key.
    pub fn key(&self) -> impl Iterator<Item = &Column> {
        let slots = self.slots.iter();
        let day_and_slot = slots.flat_map(|slots| [&slots.day, &slots.slot]);
        self.entity.iter().chain(day_and_slot)
    }

    /// Whether a CHECK on SQLite allows only integers in a counter.
    pub fn has_integers_only(&self, counter: &str) -> bool {
        self.table.has_integers_only(counter, SQLITE)
    }

    /// Returns the same target with only one of its counters.
    pub fn only_counter(&self, index: usize) -> Target {
        let mut target = self.clone();
        target.names = vec![self.names[index].clone()];
        for source in &mut target.sources {
            source.weights = vec![source.weights[index].take()];
        }
        target.sources.retain(|source| source.weights[0].is_some());
        target
    }

    /// Whether rows can name an entity that has no row here, or whose row isn't counted in.
    pub fn can_lack_entities(&self) -> bool {
        let is_sure = self.sources.iter().all(|source| source.exists);
        self.slots.is_none() && (self.only.is_some() || !is_sure)
    }

    /// Adds what a row counts for. Returns whether the counter didn't count for this entity before.
    pub fn add(&mut self, counter: String, entity: Vec<Column>, weight: Expression) -> bool {
        let name = self.name_index(counter);
        let source = self.source_index(entity);
        self.sources[source].weights[name].replace(weight).is_none()
    }

    /// Returns the index of a counter in `names`, and adds it if necessary. Every source then has a
    /// weight for it, which may be `None`.
    fn name_index(&mut self, counter: String) -> usize {
        if let Some(index) = self.names.iter().position(|name| *name == counter) {
            return index;
        }
        self.names.push(counter);
        for source in &mut self.sources {
            source.weights.push(None);
        }
        self.names.len() - 1
    }

    /// Returns the index of the source with these columns in `sources`, and adds it if necessary.
    fn source_index(&mut self, entity: Vec<Column>) -> usize {
        let mut sources = self.sources.iter();
        if let Some(index) = sources.position(|source| source.entity == entity) {
            return index;
        }
        let parents: Vec<_> = self.parents().collect();
        let is_sure = |(index, counted): &(usize, Parent)| {
            let mut parents = entity[*index].parents();
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
