//! Statements on a list of rows.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};

use super::{NUMBER, WANTED, WANTED_KEY, push_names};
use crate::backend::Dialect;

/// The names that PostgreSQL and SQLite give to the columns of a `VALUES` list: of a key, and three more.
const LISTED: [&str; 8] = [
    "column1", "column2", "column3", "column4", "column5", "column6", "column7", "column8",
];

impl Dialect {
    /// Writes `UPDATE` or `DELETE`, for a statement that reads its rows by their keys.
    ///
    /// On MySQL and MariaDB, it switches `sql_safe_updates` off for this statement. That setting
    /// refuses a statement that reads a whole table, and a list of keys is such a table. MariaDB runs
    /// the first comment, and MySQL reads the second one as a hint.
    pub(crate) fn push_verb<DB: Backend>(self, verb: &str, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.push_sql("/*M! SET STATEMENT sql_safe_updates = 0 FOR */ ");
            out.push_sql(verb);
            out.push_sql(" /*+ SET_VAR(sql_safe_updates = 0) */");
        } else {
            out.push_sql(verb);
        }
    }

    /// Writes the beginning of a `DELETE`. [`push_from_rows`](Dialect::push_from_rows) writes the
    /// rest.
    pub(crate) fn push_delete<'b, DB, T>(
        self,
        table: &'b T,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        self.push_verb("DELETE", out);
        if self == Dialect::MySql {
            out.push_sql(" ");
            table.walk_ast(out.reborrow())?;
        }
        Ok(())
    }

    /// Writes all columns of the counter table, before
    /// [`push_from_rows`](Dialect::push_from_rows).
    pub(crate) fn push_all_columns<'b, DB, T>(
        self,
        table: &'b T,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        // On MySQL the list of keys has columns too. SQLite does not support `schema.table.*`.
        if self == Dialect::MySql {
            table.walk_ast(out.reborrow())?;
            out.push_sql(".");
        }
        out.push_sql("*");
        Ok(())
    }

    /// Writes ` FROM` the counter table, restricted to a list of keys. `rows` is the number of keys,
    /// and `push_values` writes the values of one: `?, ?, ?`.
    ///
    /// MySQL and MariaDB lock every row that they read. With `IN` and a list of keys, they can read
    /// all rows of a small table. With a join, they find each row by its key.
    pub(crate) fn push_from_rows<'b, DB, T>(
        self,
        table: &'b T,
        key: &[&str],
        rows: usize,
        mut push_values: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql(" FROM ");
        if self != Dialect::MySql {
            table.walk_ast(out.reborrow())?;
            out.push_sql(" WHERE (");
            push_names(key, out)?;
            out.push_sql(") IN (VALUES ");
            for row in 0..rows {
                out.push_sql(if row == 0 { "(" } else { ", (" });
                push_values(row, out)?;
                out.push_sql(")");
            }
            out.push_sql(")");
            return Ok(());
        }
        let names: Vec<String> = (0..key.len())
            .map(|i| format!("diesel_counters_wanted_{i}"))
            .collect();
        let columns: Vec<_> = key
            .iter()
            .zip(&names)
            .map(|(column, name)| (Some(*column), name.as_str()))
            .collect();
        self.push_list(table, &columns, rows, push_values, out)?;
        out.push_sql(" STRAIGHT_JOIN ");
        table.walk_ast(out.reborrow())?;
        self.push_by_key(out);
        for (i, (column, name)) in key.iter().zip(&names).enumerate() {
            out.push_sql(if i == 0 { " ON " } else { " AND " });
            out.push_identifier(column)?;
            out.push_sql(" = ");
            out.push_sql(name);
        }
        Ok(())
    }

    /// Writes a condition: the columns `key` are one of the listed keys. `keys` is the number of keys,
    /// and `push_key` writes the values of one: `?, ?`.
    pub(crate) fn push_in<'b, DB: Backend>(
        self,
        key: &[&str],
        keys: usize,
        mut push_key: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        // `VALUES` would be a table, for which MySQL and MariaDB read all rows. SQLite requires it for
        // keys of several columns.
        let (begin, before, after) = match (key.len(), self) {
            (1, _) => (" IN (", "", ""),
            (_, Dialect::MySql) => (" IN (", "(", ")"),
            _ => (" IN (VALUES ", "(", ")"),
        };
        out.push_sql(before);
        push_names(key, out)?;
        out.push_sql(after);
        // For a list of one key of several columns, a `DELETE` of MariaDB reads all rows, and locks them.
        let is_twice = self == Dialect::MySql && keys == 1 && key.len() > 1;
        for i in 0..keys + usize::from(is_twice) {
            out.push_sql(if i == 0 { begin } else { ", " });
            out.push_sql(before);
            push_key(i % keys, out)?;
            out.push_sql(after);
        }
        out.push_sql(")");
        Ok(())
    }

    /// Writes ` FROM` a list of keys and their numbers, from 1. `keys` is the number of keys, and
    /// `push_key` writes the values of one.
    pub(crate) fn push_from_numbered<'b, DB, T>(
        self,
        table: &'b T,
        key: &[&str],
        keys: usize,
        mut push_key: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql(" FROM ");
        let of_key = key.iter().zip(WANTED_KEY);
        let of_key = of_key.map(|(column, name)| (Some(*column), name));
        let columns: Vec<_> = of_key.chain([(None, NUMBER)]).collect();
        let push_row = |row: usize, out: &mut AstPass<'_, 'b, DB>| {
            push_key(row, out)?;
            push_number(row + 1, out);
            Ok(())
        };
        self.push_list(table, &columns, keys, push_row, out)
    }

    /// Writes a join of the numbered keys to the counter table, where its columns `key` are the key.
    pub(crate) fn push_join_numbered<'b, DB, T>(
        self,
        table: &'b T,
        key: &[&str],
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        self.push_join(table, out)?;
        push_is_wanted(" ON ", key, out)
    }

    /// As [`push_join_numbered`](Dialect::push_join_numbered), where the list has the last day of a period
    /// after the columns `key`, the last of which is the day. It joins all rows of the period.
    pub(crate) fn push_join_periods<'b, DB, T>(
        self,
        table: &'b T,
        key: &[&str],
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        let Some((day, entity)) = key.split_last() else {
            return Ok(());
        };
        self.push_join(table, out)?;
        push_is_wanted(" ON ", entity, out)?;
        out.push_sql(if entity.is_empty() { " ON " } else { " AND " });
        out.push_identifier(day)?;
        for (word, name) in [" BETWEEN ", " AND "]
            .iter()
            .zip(&WANTED_KEY[entity.len()..])
        {
            out.push_sql(word);
            out.push_sql(name);
        }
        Ok(())
    }

    fn push_join<'b, DB, T>(self, table: &'b T, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql(match self {
            Dialect::MySql => " STRAIGHT_JOIN ",
            Dialect::PostgreSql | Dialect::Sqlite => " JOIN ",
        });
        table.walk_ast(out.reborrow())?;
        self.push_by_key(out);
        Ok(())
    }

    /// An `UPDATE` that sets `column` of a table to the last column of a list of so many rows,
    /// which `push_row` writes, where the condition that `push_on` writes is true. `columns` are
    /// those of the list, as in `push_list`: a
    /// key, and two more. On MySQL and MariaDB a trigger of the table could not
    /// write to another table that the statement names.
    pub(crate) fn push_update_from<'b, DB, T>(
        self,
        (table, column): (&'b T, &str),
        columns: &[(Option<&str>, &str)],
        rows: usize,
        push_row: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        push_on: impl Fn(&mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        let push_set = |out: &mut AstPass<'_, 'b, DB>| {
            out.push_sql(" SET ");
            out.push_identifier(column)?;
            out.push_sql(" = ");
            out.push_sql(columns.last().map_or("", |(_, name)| name));
            QueryResult::Ok(())
        };
        self.push_verb("UPDATE", out);
        out.push_sql(" ");
        if self == Dialect::MySql {
            self.push_list(table, columns, rows, push_row, out)?;
            out.push_sql(" STRAIGHT_JOIN ");
            table.walk_ast(out.reborrow())?;
            out.push_sql(" ON ");
            push_on(out)?;
            return push_set(out);
        }
        table.walk_ast(out.reborrow())?;
        push_set(out)?;
        out.push_sql(" FROM ");
        if self == Dialect::PostgreSql {
            // Rows are locked in the order of the list, so that two such statements do not deadlock.
            out.push_sql("(SELECT diesel_counters_wanted.* FROM ");
        }
        self.push_list(table, columns, rows, push_row, out)?;
        if self == Dialect::PostgreSql {
            out.push_sql(" JOIN ");
            table.walk_ast(out.reborrow())?;
            out.push_sql(" AS diesel_counters_parent ON ");
            push_on(out)?;
            out.push_sql(" ORDER BY ");
            let key = columns.len() - 2;
            let key: Vec<_> = columns[..key].iter().map(|(_, name)| *name).collect();
            out.push_sql(&key.join(", "));
            out.push_sql(" FOR NO KEY UPDATE OF diesel_counters_parent) AS diesel_counters_locked");
        }
        out.push_sql(" WHERE ");
        push_on(out)
    }

    /// Writes a list of rows as a table in a `FROM`. `rows` is the number of rows, and `push_row`
    /// writes the values of one. Each of `columns` has two parts: the column of `table` whose type
    /// the list's column has, or `None` for a number; and the name of the list's column.
    fn push_list<'b, DB, T>(
        self,
        table: &'b T,
        columns: &[(Option<&str>, &str)],
        rows: usize,
        mut push_row: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql("(SELECT ");
        for (i, (column, name)) in columns.iter().enumerate() {
            out.push_sql(if i == 0 { "" } else { ", " });
            match (self, column) {
                // MariaDB cannot name the columns of a `VALUES` list. A query of the table without
                // rows gives the list its names and types, and with the types the collations.
                (Dialect::MySql, Some(column)) => out.push_identifier(column)?,
                (Dialect::MySql, None) => out.push_sql("0"),
                (_, Some(_)) => out.push_sql(LISTED[i]),
                (_, None) => {
                    out.push_sql("CAST(");
                    out.push_sql(LISTED[i]);
                    out.push_sql(" AS BIGINT)");
                }
            }
            out.push_sql(" AS ");
            out.push_sql(name);
        }
        out.push_sql(" FROM ");
        if self == Dialect::MySql {
            table.walk_ast(out.reborrow())?;
            out.push_sql(" WHERE 1 = 0");
            for row in 0..rows {
                out.push_sql(" UNION ALL SELECT ");
                push_row(row, out)?;
            }
        } else {
            for row in 0..rows {
                out.push_sql(if row == 0 { "(VALUES (" } else { "), (" });
                push_row(row, out)?;
            }
            out.push_sql(")) AS diesel_counters_listed");
        }
        out.push_sql(") AS ");
        out.push_sql(WANTED);
        Ok(())
    }
}

/// Writes a condition: the columns `key` are those of a listed key.
pub(crate) fn push_is_wanted<DB: Backend>(
    before: &str,
    key: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    for (i, (column, name)) in key.iter().zip(WANTED_KEY).enumerate() {
        out.push_sql(if i == 0 { before } else { " AND " });
        out.push_identifier(column)?;
        out.push_sql(" = ");
        out.push_sql(name);
    }
    Ok(())
}

/// Writes a number, after a comma. A list has one for each row, and `format!` would take longer than
/// the rest of the row.
fn push_number<DB: Backend>(number: usize, out: &mut AstPass<'_, '_, DB>) {
    let mut text = [b' '; 22];
    let (mut first, mut left) = (text.len(), number);
    while left > 0 || first == text.len() {
        first -= 1;
        text[first] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    text[first - 2] = b',';
    out.push_sql(std::str::from_utf8(&text[first - 2..]).unwrap_or_default());
}
