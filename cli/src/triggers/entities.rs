//! Whether a row's entity exists. A cascade changes and deletes rows after their entity.

use super::counting::Counting;
use super::target::{Source, Target};
use crate::database::{Joined, MYSQL, POSTGRES};

impl Counting {
    /// Conditions that are true if an entity exists. `entity` has an expression for every column of
    /// its key.
    pub fn exists(&self, target: &Target, entity: &[String]) -> Vec<String> {
        self.exists_at(0, target, entity)
    }

    /// Does the same for a query that comes after this number of others in its statement.
    pub fn exists_at(&self, uses_before: usize, target: &Target, entity: &[String]) -> Vec<String> {
        let something = if self.database == POSTGRES { "" } else { " 1" };
        let parents = target.parents.iter().enumerate().map(|(number, parent)| {
            let value = &entity[parent.column];
            let table = self.database.table_name(&parent.table);
            let (used_as, from) = match self.parent_alias(target, number, uses_before) {
                Some(alias) => (alias.clone(), self.used_as(&alias, &parent.table)),
                None => (table.clone(), table),
            };
            let key = self.database.column(&used_as, &parent.key);
            format!("EXISTS (SELECT{something} FROM {from} WHERE {key} = {value})")
        });
        parents.collect()
    }

    /// Returns how many queries come before a source's query, in a statement that has `before`
    /// queries before those of the target.
    pub fn uses_before(&self, target: &Target, source: &Source, before: usize) -> usize {
        let mut sources = target.sources.iter();
        let index = sources.position(|other| other.entity == source.entity);
        before + index.unwrap_or_default()
    }

    /// Returns the alias of a parent's table in a query, if it needs one. Under LOCK TABLES, a
    /// MySQL statement can use each name only once.
    fn parent_alias(&self, target: &Target, number: usize, uses_before: usize) -> Option<String> {
        let (before, after) = target.parents.split_at(number);
        let is_used = before.iter().any(|other| other.table.is(&after[0].table));
        if self.database != MYSQL || uses_before == 0 && !is_used {
            return None;
        }
        let number = uses_before * target.parents.len() + number + 1;
        let name = format!("parent{number}_{}", target.table.name);
        Some(self.database.quoted(&name))
    }

    /// Says why the counts of an entity that is gone aren't changed.
    pub fn why_existing(&self, target: &Target) -> String {
        let tables = target.parents.iter().map(|parent| parent.table.to_string());
        match &*tables.joined(" and ") {
            "" => String::new(),
            tables => format!("Where {tables} are being deleted, their counts go with them."),
        }
    }

    /// Returns the tables in which a query looks for entities, with their aliases. `uses_before` is
    /// how many queries come before it, in the same statement.
    pub fn parents_at(&self, uses_before: usize, target: &Target) -> Vec<String> {
        let parents = target.parents.iter().enumerate();
        let tables =
            parents.map(
                |(number, parent)| match self.parent_alias(target, number, uses_before) {
                    Some(alias) => self.used_as(&alias, &parent.table),
                    None => self.database.table_name(&parent.table),
                },
            );
        tables.collect()
    }
}
