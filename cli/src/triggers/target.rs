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
    /// Whether a counter counts every row as 1. Then every row that counts changes a counter.
    pub fn has_weight_one(&self) -> bool {
        self.weights.iter().flatten().any(Expression::is_one)
    }
}

impl Target {
    /// Returns what the foreign keys of the entity's columns refer to, with the number of the
    /// column, from 0. For an ordinary column, that's the row itself: the count is deleted with it.
    pub fn parents(&self) -> impl Iterator<Item = (usize, Parent)> {
        let mut parents = Vec::new();
        for (number, column) in self.entity.iter().enumerate() {
            if self.slots.is_some() {
                let of_column = column.parents().cloned();
                parents.extend(of_column.map(|parent| (number, parent)));
            } else {
                parents.push((number, self.row_as_parent(column)));
            }
        }
        parents.into_iter()
    }

    /// Describes the row of an ordinary table as if a cascading foreign key referred to this column
    /// of it.
    fn row_as_parent(&self, column: &Column) -> Parent {
        Parent {
            in_schema: self.table.in_schema.clone(),
            table: self.table.name.clone(),
            column: column.name.clone(),
            on_delete: "CASCADE".to_owned(),
            on_update: "NO ACTION".to_owned(),
            deferrable: "NOT DEFERRABLE".to_owned(),
            valid: true,
        }
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

    /// Returns the name of a target's only counter, with its table: `article_counters.likes`.
    pub fn only_counter_name(&self) -> String {
        format!("{}.{}", self.table, self.names[0])
    }

    /// Returns the same target with only one of its counters: the one with this index.
    pub fn only_counter(&self, index: usize) -> Target {
        let mut target = self.clone();
        target.names = vec![self.names[index].clone()];
        for source in &mut target.sources {
            source.weights = vec![source.weights[index].take()];
        }
        // Where a source has no weight, its rows don't count in this counter.
        target.sources.retain(|source| source.weights[0].is_some());
        target
    }

    /// Whether rows can name an entity that has no row in an ordinary table, or whose row isn't
    /// counted in.
    pub fn can_lack_entities(&self) -> bool {
        let exist = self.sources.iter().all(|source| source.exists);
        self.slots.is_none() && (self.only.is_some() || !exist)
    }

    /// Makes a counter count rows by this weight, for the entity that these columns of a row name.
    /// Returns `false` if it already counted for this entity.
    pub fn add(&mut self, counter: String, entity: Vec<Column>, weight: Expression) -> bool {
        let counter_index = self.counter_index(counter);
        let source_index = self.source_index(entity);
        let source = &mut self.sources[source_index];
        source.weights[counter_index].replace(weight).is_none()
    }

    /// Returns the index of a counter in `names`, and adds it if necessary. Every source then has a
    /// weight for it, which may be `None`.
    fn counter_index(&mut self, counter: String) -> usize {
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
        // The entity exists if the row refers to the same rows as the entity's key.
        let parents_of_key: Vec<_> = self.parents().collect();
        let refers_to = |(number, parent_of_key): &(usize, Parent)| {
            let mut parents_of_row = entity[*number].parents();
            parents_of_row.any(|parent| parent.valid && parent.is_same(parent_of_key))
        };
        let exists = !parents_of_key.is_empty() && parents_of_key.iter().all(refers_to);
        self.sources.push(Source {
            weights: vec![None; self.names.len()],
            exists,
            entity,
        });
        self.sources.len() - 1
    }
}
