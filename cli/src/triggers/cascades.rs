//! Rows that two foreign keys delete in turn, for example a user's articles and then their
//! comments. MySQL and MariaDB run no triggers for the comments, and the triggers of the articles
//! count only one level down.

use std::fmt;

use anyhow::Result;

use super::counting::Counting;
use super::references::by_parent;
use crate::catalogue::{self, Column, Parent, Table};
use crate::connection::AnyConnection;
use crate::database::MYSQL;

/// A chain of foreign keys that deletes counted rows without taking them off their counts.
pub struct Cascade {
    /// The table whose row a program deletes.
    deleted: String,
    /// The table whose rows are then deleted.
    between: String,
    /// The table of the counted rows.
    rows: String,
    /// Whether the counted rows are deleted too, and not just changed.
    deletes: bool,
    definition: String,
}

impl fmt::Display for Cascade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cascade {
            deleted,
            between,
            rows,
            ..
        } = self;
        let deletes = if self.deletes { "deletes" } else { "changes" };
        write!(
            f,
            "Deleting a row of {deleted} also deletes rows of {between}, and that {deletes} rows of \
             {rows}."
        )
    }
}

impl Cascade {
    pub const COST: &'static str = "MySQL and MariaDB run no trigger for the last of these: they \
                                    stay in the counts.";

    /// Says how to delete the rows so that the counts stay right.
    pub fn remedy(&self) -> String {
        let Cascade {
            between,
            definition,
            ..
        } = self;
        format!(
            "Delete the rows of {between} first, in the same transaction. Or run `diesel-counters \
             recount {definition} --lower` afterwards."
        )
    }
}

/// Returns the chains of two foreign keys that leave wrong counts behind. For example, deleting a
/// user deletes the user's articles, and then their comments, which other entities' counts still
/// contain.
pub fn cascades(counting: &Counting, conn: &mut AnyConnection) -> Result<Vec<Cascade>> {
    let mut cascades = Vec::new();
    // The other databases run triggers for the rows that a foreign key deletes.
    if counting.database != MYSQL {
        return Ok(cascades);
    }
    for references in by_parent(counting)? {
        // All foreign keys of this group refer to the same table.
        let between = references[0].parent;
        let Some(table) = catalogue::parent(between, conn)? else {
            continue;
        };
        let deletes = references
            .iter()
            .any(|reference| reference.parent.cascades());
        for deleted in tables_that_cascade_to(&table) {
            cascades.push(Cascade {
                deleted: deleted.table.clone(),
                between: between.table.clone(),
                rows: counting.rows.to_string(),
                deletes,
                definition: counting.definition.name.clone(),
            });
        }
    }
    Ok(cascades)
}

/// Returns the tables whose deleted rows also delete rows of this table, by an `ON DELETE CASCADE`.
/// Each is listed once, with one of its foreign keys.
fn tables_that_cascade_to(table: &Table) -> Vec<&Parent> {
    let of_one_column = table.columns.iter().flat_map(Column::parents);
    let of_several_columns = table.wide_foreign_keys.iter().map(|key| &key.parent);
    let mut tables: Vec<&Parent> = Vec::new();
    for parent in of_one_column.chain(of_several_columns) {
        let is_listed = tables
            .iter()
            .any(|listed| (&listed.in_schema, &listed.table) == (&parent.in_schema, &parent.table));
        if parent.cascades() && !is_listed {
            tables.push(parent);
        }
    }
    tables
}
