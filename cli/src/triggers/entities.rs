//! Whether a row's entity exists. A cascade changes and deletes rows after their entity.

use super::counting::Counting;
use super::target::{Source, Target};
use crate::database::{Joined, MYSQL, POSTGRES};

impl Counting {
    /// Returns the conditions that an entity exists, one for every table that it needs a row of:
    /// `EXISTS (SELECT 1 FROM articles WHERE articles.id = NEW.article_id)`. `entity` has an
    /// expression for every column of its key, such as `NEW.article_id`.
    pub fn exists(&self, target: &Target, entity: &[String]) -> Vec<String> {
        let uses_before = 0;
        self.exists_at(uses_before, target, entity)
    }

    /// Like `exists`, for a query that comes after this number of others in its statement. On
    /// MySQL, its tables then need aliases: see `parent_alias`.
    pub fn exists_at(&self, uses_before: usize, target: &Target, entity: &[String]) -> Vec<String> {
        let mut conditions = Vec::new();
        for (index, parent) in target.parents.iter().enumerate() {
            let ParentInQuery { name, from } = self.parent_in_query(target, index, uses_before);
            let key = self.database.column(&name, &parent.key);
            let value = &entity[parent.column];
            // PostgreSQL needs no column here.
            let select = if self.database == POSTGRES {
                "SELECT"
            } else {
                "SELECT 1"
            };
            conditions.push(format!(
                "EXISTS ({select} FROM {from} WHERE {key} = {value})"
            ));
        }
        conditions
    }

    /// Returns the number of queries that come before a source's query in its statement, if
    /// `before_target` queries come before the first one of this target.
    pub fn uses_before(&self, target: &Target, source: &Source, before_target: usize) -> usize {
        let mut sources = target.sources.iter();
        let index = sources.position(|other| other.entity == source.entity);
        before_target + index.unwrap_or_default()
    }

    /// Returns how a query names the table of one of the target's parents.
    fn parent_in_query(&self, target: &Target, index: usize, uses_before: usize) -> ParentInQuery {
        let table = &target.parents[index].table;
        match self.parent_alias(target, index, uses_before) {
            Some(alias) => ParentInQuery {
                from: self.used_as(&alias, table),
                name: alias,
            },
            None => ParentInQuery {
                from: self.database.table_name(table),
                name: self.database.table_name(table),
            },
        }
    }

    /// Returns the alias of a parent's table in a query, if it needs one, for example
    /// `parent2_article_counters`. Under LOCK TABLES, a MySQL statement can use each name only
    /// once.
    fn parent_alias(&self, target: &Target, index: usize, uses_before: usize) -> Option<String> {
        let parents = &target.parents;
        let mut parents_before = parents[..index].iter();
        let is_used = parents_before.any(|parent| parent.table.is(&parents[index].table));
        let is_first_use = uses_before == 0 && !is_used;
        if self.database != MYSQL || is_first_use {
            return None;
        }
        let number = uses_before * parents.len() + index + 1;
        let alias = format!("parent{number}_{}", target.table.name);
        Some(self.database.quoted(&alias))
    }

    /// Returns a comment for the generated SQL, which says why a trigger leaves the counts of an
    /// entity that is gone. Returns an empty one if it doesn't look for entities.
    pub fn why_existing(&self, target: &Target) -> String {
        if target.parents.is_empty() {
            return String::new();
        }
        let tables = target.parents.iter().map(|parent| parent.table.to_string());
        let tables = tables.joined(" and ");
        format!("Where {tables} are being deleted, their counts go with them.")
    }

    /// Returns the tables in which a query looks for entities, with their aliases:
    /// `articles AS parent2_article_counters`. `uses_before` is the number of queries that come
    /// before it in its statement.
    pub fn parents_at(&self, uses_before: usize, target: &Target) -> Vec<String> {
        let indexes = 0..target.parents.len();
        let tables = indexes.map(|index| self.parent_in_query(target, index, uses_before).from);
        tables.collect()
    }
}

/// How a query names a parent's table.
struct ParentInQuery {
    /// The name before its columns: the table's name, or the alias.
    name: String,
    /// What comes after `FROM`: the table's name, and the alias if there is one.
    from: String,
}
