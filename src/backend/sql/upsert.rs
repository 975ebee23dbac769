//! An `INSERT` that adds to the row that exists.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};

use super::{SQLITE_ELSE_ERROR, push_names};
use crate::backend::Dialect;

/// The name of the stored row. It is long so that no table of an application has it.
const STORED: &str = "diesel_counters_stored";

impl Dialect {
    /// Writes the beginning of an `INSERT` into the counter table, up to the list of columns.
    pub(crate) fn push_insert_into<'b, DB, T>(
        self,
        table: &'b T,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql("INSERT INTO ");
        table.walk_ast(out.reborrow())?;
        if self != Dialect::MySql {
            // An alias, because the table's own name could be `excluded`.
            out.push_sql(" AS ");
            out.push_sql(STORED);
        }
        out.push_sql(" (");
        Ok(())
    }

    /// Writes the end of an `INSERT` into a counter table. If a row exists, the values of the
    /// columns `counters` are added to it. Without counters, the row is only locked.
    pub(crate) fn push_on_conflict_add<DB: Backend>(
        self,
        key: &[&str],
        counters: &[&str],
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql | Dialect::Sqlite => {
                out.push_sql(" ON CONFLICT (");
                push_names(key, out)?;
                out.push_sql(") DO UPDATE SET ");
            }
            Dialect::MySql => out.push_sql(" ON DUPLICATE KEY UPDATE "),
        }
        if let ([], [.., slot]) = (counters, key) {
            // An update locks the row. The slot keeps its value.
            out.push_identifier(slot)?;
            out.push_sql(" = ");
            out.push_sql(if self == Dialect::MySql {
                "VALUES("
            } else {
                "(excluded."
            });
            out.push_identifier(slot)?;
            out.push_sql(")");
        }
        for (i, name) in counters.iter().enumerate() {
            if i > 0 {
                out.push_sql(", ");
            }
            out.push_identifier(name)?;
            out.push_sql(" = ");
            match self {
                Dialect::PostgreSql => push_stored_plus_excluded(name, out)?,
                // SQLite's `+` returns a REAL when it overflows.
                Dialect::Sqlite => {
                    out.push_sql("CASE typeof(");
                    push_stored_plus_excluded(name, out)?;
                    out.push_sql(") WHEN 'integer' THEN ");
                    push_stored_plus_excluded(name, out)?;
                    out.push_sql(SQLITE_ELSE_ERROR);
                }
                // MySQL recommends a row alias, which MariaDB does not have.
                Dialect::MySql => {
                    out.push_identifier(name)?;
                    out.push_sql(" + VALUES(");
                    out.push_identifier(name)?;
                    out.push_sql(")");
                }
            }
        }
        Ok(())
    }

    /// Writes the end of an `INSERT` of rows with zeros. If a row exists, it does not change.
    ///
    /// On MySQL and MariaDB the existing row is locked too. It adds 0, because `INSERT IGNORE` would
    /// turn errors into warnings.
    pub(crate) fn push_on_conflict_keep<DB: Backend>(
        self,
        key: &[&str],
        counters: &[&str],
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql | Dialect::Sqlite => {
                out.push_sql(" ON CONFLICT (");
                push_names(key, out)?;
                out.push_sql(") DO NOTHING");
                Ok(())
            }
            Dialect::MySql => self.push_on_conflict_add(key, counters, out),
        }
    }
}

fn push_stored_plus_excluded<DB: Backend>(
    counter: &str,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    out.push_sql(STORED);
    out.push_sql(".");
    out.push_identifier(counter)?;
    out.push_sql(" + excluded.");
    out.push_identifier(counter)
}
