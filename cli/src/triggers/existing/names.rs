//! How the statements that count existing rows name their tables.

use crate::catalogue::Table;
use crate::triggers::counting::Counting;
use crate::triggers::statement::{COUNTED, KEPT, numbered};
use crate::triggers::target::Target;

/// How tables are named in the statements. LOCK TABLES on MySQL takes a name only once, so a
/// migration of several definitions or tables adds the tables' names to the aliases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Short,
    WithTable,
}

impl Names {
    /// Returns the alias for the table of the rows in a query that comes after this number of
    /// others: `counted`, `counted2` and so on, or `counted_article_likes` with the table's name.
    pub(super) fn counted(self, counting: &Counting, uses_before: usize) -> String {
        let alias = numbered(&counting.unused_name(COUNTED), uses_before);
        self.with_table(alias, &counting.rows, counting)
    }

    /// Returns the alias for the table with the counters: `kept`, or `kept_article_counters` with
    /// the table's name.
    pub(super) fn kept(self, counting: &Counting, target: &Target) -> String {
        let alias = counting.unused_name(KEPT);
        self.with_table(alias, &target.table, counting)
    }

    /// Returns the alias for the table that has a row per entity, in a query that comes after this
    /// number of others: `entity`, or `entity_articles` with the table's name.
    pub(super) fn entity(self, counting: &Counting, target: &Target, uses_before: usize) -> String {
        let alias = numbered(&counting.unused_name("entity"), uses_before);
        self.with_table(alias, &target.table, counting)
    }

    /// Returns the alias for the table that had the counts until now: `earlier`, or
    /// `earlier_articles` with the table's name.
    pub(super) fn earlier(self, counting: &Counting, target: &Target) -> String {
        let alias = counting.unused_name("earlier");
        self.with_table(alias, &target.table, counting)
    }

    /// Adds the table's name to an alias if these names have one.
    fn with_table(self, alias: String, table: &Table, counting: &Counting) -> String {
        match self {
            Names::Short => alias,
            Names::WithTable => counting.database.quoted(&format!("{alias}_{}", table.name)),
        }
    }
}
