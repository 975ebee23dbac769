//! The databases, each in a folder of its own.
//!
//! A new one is a folder with an implementation of [`Database`], a line in [`ALL`] and in [`of`],
//! and a variant in `connection.rs`.

mod create_table;
mod fault;
mod mysql;
mod postgres;
mod replace;
mod rows;
mod sqlite;

use std::time::Duration;

use anyhow::Result;
use diesel::sql_types::BigInt;
use diesel::{QueryResult, RunQueryDsl};
use diesel_counters::Dialect;
use serde::Serialize;

use crate::catalogue::{Column, Index, Kind, Named, Parent, Shape, Table};
use crate::connection::AnyConnection;
use crate::doctor::looks::Looks;
use crate::doctor::report::{Deadlock, Look};
use crate::sql::{Sql, sql};

pub use create_table::{CreateTable, Entity, KeyColumn, KeyType, Parts, qualified};
pub(crate) use fault::faults;
pub use fault::{Change, Fault, Known, Rebuild, Replaces, Script, Severity};
pub use rows::Catalogue;
pub use {mysql::Mysql, postgres::Postgres, sqlite::Sqlite};

/// The answers that the command needs from a database.
pub trait Database: Sync {
    /// The plain data about it.
    fn facts(&self) -> &'static Facts;

    /// A name as an SQL identifier.
    fn quoted(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    /// The last deadlock of the server, if a row of this table had a part in it.
    fn last_deadlock(&self, _: &mut Looks<'_>) -> Result<Option<Deadlock>> {
        Ok(None)
    }

    /// Ends each later statement that takes longer.
    fn limit_statements(&self, _: Duration, _: &mut AnyConnection) -> QueryResult<()> {
        Ok(())
    }

    /// The size of a table, or `None` if the database does not know it.
    fn size(&self, table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>>;

    /// The kind that a key of this kind is stored and bound as.
    fn stored_as(&self, kind: Kind) -> Kind {
        kind
    }

    /// SQL that joins texts, with commas between them.
    fn joined(&self, texts: &[String]) -> String {
        texts.join(" || ', ' || ")
    }

    /// A condition that is true for the key that is printed as this text, and for no other.
    fn is_text(&self, key: &Column, text: &str) -> Sql {
        sql(format!("{} = ", self.quoted(&key.name))).bind(text)
    }

    /// The type of a column of texts, with a collation that tells all texts apart.
    fn exact_type(&self, column: &Column) -> String {
        column.sql_type.clone()
    }

    /// Whether a collation ignores no more than spaces at the end.
    fn only_ignores_spaces(&self, _collation: &str) -> bool {
        false
    }

    /// The faults that only tables of this database can have.
    fn faults(&self, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>>;

    /// The uses of `REPLACE INTO` for a table, or `None` if the database has no such statement.
    fn replaces(&self, _: &Parent, _: &mut AnyConnection) -> Result<Option<Replaces>> {
        Ok(None)
    }

    /// SQL that changes a table, or `None` if the table has to be rebuilt.
    fn change(&self, change: &Change<'_>, table: &Table) -> Option<Script>;

    /// The change of an `ALTER TABLE` that drops an index, if there is one.
    fn drop_in_alter(&self, _index: &Index) -> Option<String> {
        None
    }

    /// SQL that rebuilds a table, where that is how a table is changed.
    fn rebuild(&self, _: &Shape<'_>, _: &mut AnyConnection) -> Result<Rebuild> {
        Ok(Rebuild::default())
    }

    /// The parts of a `CREATE TABLE` that depend on the entity.
    fn of_entity(&self, entity: &Entity) -> Parts {
        Parts {
            references: entity.references(self),
            ..Parts::default()
        }
    }

    /// A foreign key of several columns that changes rows without running triggers.
    fn uncounted_foreign_key(&self, _: &Table, _: &mut AnyConnection) -> Result<Option<String>> {
        Ok(None)
    }

    /// A foreign key of several columns, some of which a counter table's key has. The catalogue has only
    /// foreign keys of one column.
    fn foreign_key_of_key(
        &self,
        table: &Table,
        conn: &mut AnyConnection,
    ) -> Result<Option<String>> {
        let names = sql(self.facts().wide_foreign_keys);
        let names = names
            .bind(&*table.in_schema)
            .sql(" AND of_table = ")
            .bind(&*table.name);
        let names: Vec<String> = names.typed::<diesel::sql_types::Text>().load(conn)?;
        Ok(names.into_iter().next())
    }

    /// A text as SQL.
    fn literal(&self, text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    // What follows is the same for all databases.

    /// The tables of a name, or all but the database's own.
    fn tables(&self, name: Option<Named<'_>>, conn: &mut AnyConnection) -> Result<Vec<Table>> {
        self.facts().catalogue.tables(name, conn)
    }

    /// The table of a name. Some databases have tables whose names differ in case only.
    fn table(&self, name: Named<'_>, conn: &mut AnyConnection) -> Result<Option<Table>> {
        let tables = self.tables(Some(name), conn)?;
        let exact = tables.iter().position(|table| table.name == name.1);
        Ok(tables.into_iter().nth(exact.unwrap_or(0)))
    }

    /// What has this name and is no table, such as `a view`.
    fn other(&self, name: Named<'_>, conn: &mut AnyConnection) -> Result<Option<String>> {
        self.facts().catalogue.other(name, conn)
    }

    /// The table that a foreign key refers to, if the user may see it.
    fn parent(&self, parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Table>> {
        self.table((Some(&parent.in_schema), &parent.table), conn)
    }

    /// SQL that reads a key as text, and bytes as hexadecimal digits.
    fn as_text(&self, key: &Column) -> String {
        let as_text = match self.stored_as(key.kind) {
            Kind::Binary => self.facts().hex,
            _ => self.facts().text,
        };
        as_text.replace("{}", &self.quoted(&key.name))
    }

    /// SQL that reads a key of several columns as one text: `7, 👍`.
    fn key_as_text(&self, key: &[Column]) -> String {
        let columns: Vec<_> = key.iter().map(|column| self.as_text(column)).collect();
        match &*columns {
            [] => self.facts().text.replace("{}", "NULL"),
            [one] => one.clone(),
            several => self.joined(several),
        }
    }

    /// SQL that reads a column of times as days in UTC, or `None` if that is not certain.
    fn as_day(&self, column: &Column) -> Option<String> {
        let mut days = self.facts().days.iter();
        let (_, as_day) = days.find(|(sql_type, _)| *sql_type == column.sql_type)?;
        Some(as_day.replace("{}", &self.quoted(&column.name)))
    }

    /// A name in SQL, with a schema: `"a"."b"`.
    fn quoted_in(&self, schema: Option<&str>, name: &str) -> String {
        let schema = schema.map(|schema| self.quoted(schema) + ".");
        schema.unwrap_or_default() + &self.quoted(name)
    }

    /// A table's name in SQL, with its schema if it needs one.
    fn table_name(&self, table: &Table) -> String {
        self.quoted_in(table.schema.as_deref(), &table.name)
    }

    /// Names in SQL: `"a", "b"`.
    fn quoted_list(&self, names: &[&str]) -> String {
        let quoted: Vec<_> = names.iter().map(|name| self.quoted(name)).collect();
        quoted.join(", ")
    }

    /// The number of rows that fulfil a condition.
    fn count(&self, table: &Table, condition: &str, conn: &mut AnyConnection) -> Result<i64> {
        let table = self.table_name(table);
        let count = sql(format!("SELECT COUNT(*) FROM {table} WHERE {condition}"));
        Ok(count.typed::<BigInt>().get_result(conn)?)
    }
}

/// The plain data about a database.
pub struct Facts {
    /// The value of `--backend`.
    pub option: &'static str,
    /// The queries of the tables with their columns, indexes and foreign keys.
    pub catalogue: Catalogue,
    /// SQL that reads a value as text. `{}` is the value, here and below.
    pub text: &'static str,
    /// SQL that reads bytes as hexadecimal digits.
    pub hex: &'static str,
    /// Types of times, and SQL that reads these as days in UTC.
    pub days: &'static [(&'static str, &'static str)],
    /// The SQL types of keys, in the order of [`KeyType`].
    pub key_types: [&'static str; 6],
    /// The names of the foreign keys of several columns, up to a schema.
    pub wide_foreign_keys: &'static str,
    /// The check of a counter.
    pub check: &'static str,
    /// The comment above the counters of a `CREATE TABLE`.
    pub above_counters: &'static str,
    /// The comment above its primary key.
    pub above_key: &'static str,
    /// The cost of a table in which nothing makes the key unique.
    pub no_unique_key: &'static str,
    /// The cost of an auto-increment primary key beside the unique one, if that is a fault.
    pub auto_increment_key: Option<&'static str>,
    /// The cost of another unique index.
    pub unique_index: &'static str,
    /// The cost of an index on a counter.
    pub counter_index: &'static str,
    /// Who waits for rows of a table, and who holds them.
    pub look: fn(&mut Looks<'_>) -> Result<Look>,
    /// An expression: the product and its version.
    pub version: &'static str,
    /// Where deadlocks are found, if `last_deadlock` finds none.
    pub no_deadlock: Option<&'static str>,
    /// Where it shows who has locked a whole table.
    pub table_locks: &'static str,
    /// Ends the session `{}`.
    pub end_session: &'static str,
    /// What a connection needs before its slot is certain to be its own.
    pub claim_slots: &'static str,
}

/// All databases, as `--backend` lists them.
pub const ALL: [&dyn Database; 3] = [&postgres::Postgres, &mysql::Mysql, &sqlite::Sqlite];

/// The size of a table.
#[derive(Serialize)]
pub struct Size {
    pub bytes: i64,
    /// What has that size.
    pub of: &'static str,
}

/// The database that speaks a dialect.
pub fn of(dialect: Dialect) -> &'static dyn Database {
    match dialect {
        Dialect::PostgreSql => &postgres::Postgres,
        Dialect::MySql => &mysql::Mysql,
        Dialect::Sqlite => &sqlite::Sqlite,
    }
}

impl AnyConnection {
    pub(crate) fn database(&self) -> &'static dyn Database {
        of(self.dialect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_quotes() {
        assert_eq!(sqlite::Sqlite.quoted(r#"a"b`c"#), r#""a""b`c""#);
        assert_eq!(mysql::Mysql.quoted(r#"a"b`c"#), r#"`a"b``c`"#);
    }
}
