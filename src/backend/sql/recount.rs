//! The parts of a recount of triggers that differ by database.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::AstPass;
use diesel::result::Error;

use super::SQLITE_ELSE_ERROR;
use crate::backend::Dialect;

impl Dialect {
    /// Fails if a query in the caller's transaction could read a snapshot from its first query.
    pub(crate) fn refuse_old_snapshot(self, in_a_transaction: bool) -> QueryResult<()> {
        if in_a_transaction && self.reads_old_snapshots() {
            return Err(Error::QueryBuilderError(
                "on MySQL and MariaDB, a query in a transaction can read rows as they were when the \
                 transaction began: run this outside of a transaction"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Returns a query of the names of the views that define triggers.
    pub(crate) fn trigger_views(self) -> &'static str {
        match self {
            Dialect::PostgreSql => {
                "SELECT CAST(c.relname AS TEXT) FROM pg_class c \
                 JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relkind = 'v' \
                 AND pg_table_is_visible(c.oid) AND a.attname = 'diesel_counters_trigger'"
            }
            Dialect::MySql => {
                "SELECT CAST(c.table_name AS CHAR) FROM information_schema.columns c \
                 JOIN information_schema.views v \
                 ON v.table_schema = c.table_schema AND v.table_name = c.table_name \
                 WHERE c.table_schema = DATABASE() AND c.column_name = 'diesel_counters_trigger'"
            }
            // SQLite cannot tell the columns of a view of a table that does not exist.
            Dialect::Sqlite => {
                "SELECT name FROM sqlite_schema \
                 WHERE type = 'view' AND sql LIKE '% AS diesel_counters_trigger'"
            }
        }
    }

    /// Writes a value as text, and bytes as hexadecimal digits. `push_value` writes the value.
    pub(crate) fn push_text<DB: Backend>(
        self,
        push_value: impl Fn(&mut AstPass<'_, '_, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        let parts: &[&str] = match self {
            Dialect::PostgreSql => &["CAST(", " AS TEXT)"],
            Dialect::Sqlite => &[
                "CASE typeof(",
                ") WHEN 'blob' THEN lower(hex(",
                ")) ELSE CAST(",
                " AS TEXT) END",
            ],
            // Numbers and times have the collation of bytes, too.
            Dialect::MySql => &[
                "IF(COLLATION(",
                ") = 'binary' AND COERCIBILITY(",
                ") < 5, LOWER(HEX(",
                ")), CAST(",
                " AS CHAR))",
            ],
        };
        push_parts(parts, push_value, out)
    }

    /// Writes an integer, or fails if it is out of the range of a BIGINT. `push_value` writes it.
    pub(crate) fn push_whole<DB: Backend>(
        self,
        push_value: impl Fn(&mut AstPass<'_, '_, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql | Dialect::MySql => push_value(out),
            // SQLite's `+` returns a REAL when it overflows.
            Dialect::Sqlite => {
                let parts = &["CASE typeof(", ") WHEN 'integer' THEN ", SQLITE_ELSE_ERROR];
                push_parts(parts, push_value, out)
            }
        }
    }

    /// Returns the statement that drops a temporary table, up to its name.
    pub(crate) fn drop_temporary(self) -> &'static str {
        match self {
            Dialect::PostgreSql => "DROP TABLE pg_temp.",
            Dialect::Sqlite => "DROP TABLE temp.",
            // Its rollback does not drop a table that the transaction has created.
            Dialect::MySql => "DROP TEMPORARY TABLE IF EXISTS ",
        }
    }

    /// Returns the end of a query whose rows are updated next.
    pub(crate) fn for_update(self) -> &'static str {
        match self {
            Dialect::PostgreSql => " FOR NO KEY UPDATE",
            Dialect::MySql => " FOR UPDATE",
            // The transaction has the write lock of the whole database.
            Dialect::Sqlite => "",
        }
    }
}

/// Writes these parts, with the value between them.
fn push_parts<DB: Backend>(
    parts: &[&str],
    push_value: impl Fn(&mut AstPass<'_, '_, DB>) -> QueryResult<()>,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            push_value(out)?;
        }
        out.push_sql(part);
    }
    Ok(())
}
