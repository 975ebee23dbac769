//! Rows that two foreign keys delete in turn, for example a user's articles and then their
//! comments. MySQL and MariaDB run no triggers for the comments, and the triggers of the articles
//! count only one level down.

use std::fmt;

use anyhow::Result;

use super::counting::Counting;
use super::references::by_parent;
use crate::catalogue::{self, Column};
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

/// Returns the chains that leave counts of entities that may still exist.
pub fn cascades(counting: &Counting, conn: &mut AnyConnection) -> Result<Vec<Cascade>> {
    let mut cascades = Vec::new();
    if counting.database != MYSQL {
        return Ok(cascades);
    }
    for references in by_parent(counting)? {
        let between = references[0].parent;
        let Some(table) = catalogue::parent(between, conn)? else {
            continue;
        };
        let of_columns = table.columns.iter().flat_map(Column::parents);
        let of_several = table.wide_foreign_keys.iter().map(|key| &key.parent);
        let mut seen = Vec::new();
        for first in of_columns.chain(of_several) {
            let deleted = (&first.in_schema, &first.table);
            if !first.cascades() || seen.contains(&deleted) {
                continue;
            }
            seen.push(deleted);
            cascades.push(Cascade {
                deleted: first.table.clone(),
                between: between.table.clone(),
                rows: counting.rows.to_string(),
                deletes: references.iter().any(|one| one.parent.cascades()),
                definition: counting.definition.name.clone(),
            });
        }
    }
    Ok(cascades)
}
