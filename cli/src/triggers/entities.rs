//! Whether the entity of a row exists. A cascade changes and deletes rows after their entity.

use super::counting::Counting;
use super::target::{Source, Target};
use crate::catalogue::Table;
use crate::database::{Joined, MYSQL, POSTGRES};

impl Counting {
    /// Conditions that are true if an entity exists. `entity` has an expression for each column of
    /// its key.
    pub fn exists(&self, target: &Target, entity: &[String]) -> Vec<String> {
        self.exists_in(None, target, entity)
    }

    /// The same, with another name for the tables of the parents.
    pub fn exists_in(
        &self,
        used_as: Option<&str>,
        target: &Target,
        entity: &[String],
    ) -> Vec<String> {
        let something = if self.database == POSTGRES { "" } else { " 1" };
        let parents = target.parents.iter().map(|parent| {
            let value = &entity[parent.column];
            let table = self.database.table_name(&parent.table);
            let key = self.database.column(used_as.unwrap_or(&table), &parent.key);
            let from = self.parent_in_query(used_as, &parent.table);
            format!("EXISTS (SELECT{something} FROM {from} WHERE {key} = {value})")
        });
        parents.collect()
    }

    /// What a parent's table is called in the query of a source, if that isn't its own name. A
    /// statement of MySQL that runs under LOCK TABLES can use a name once.
    pub fn parent_of(&self, target: &Target, source: &Source) -> Option<String> {
        let mut sources = target.sources.iter();
        let place = sources.position(|other| other.entity == source.entity);
        match place {
            Some(place @ 1..) if self.database == MYSQL => {
                let name = format!("parent{}_{}", place + 1, target.table.name);
                Some(self.database.quoted(&name))
            }
            _ => None,
        }
    }

    /// Says why the counts of an entity that is gone aren't changed.
    pub fn why_existing(&self, target: &Target) -> String {
        let tables = target.parents.iter().map(|parent| parent.table.to_string());
        match &*tables.joined(" and ") {
            "" => String::new(),
            tables => format!("Where {tables} are being deleted, their counts go with them."),
        }
    }

    /// The tables in which the query of a source looks for entities, under the names that they have
    /// there.
    pub fn parents_in_query(&self, target: &Target, source: &Source) -> Vec<String> {
        let used_as = self.parent_of(target, source);
        let parents = target.parents.iter();
        let tables = parents.map(|one| self.parent_in_query(used_as.as_deref(), &one.table));
        tables.collect()
    }

    fn parent_in_query(&self, used_as: Option<&str>, table: &Table) -> String {
        match used_as {
            None => self.database.table_name(table),
            Some(alias) => self.used_as(alias, table),
        }
    }
}
