//! The `CREATE TABLE` of a counter table.

use super::Database;

/// A `CREATE TABLE`. All its names are quoted, as `diesel migration generate --diff-schema` does.
pub struct CreateTable<'a> {
    pub database: &'static dyn Database,
    /// In SQL.
    pub table: &'a str,
    /// The columns of the entity's key.
    pub entity: Vec<KeyColumn<'a>>,
    /// After the primary key.
    pub foreign_keys: String,
    pub day: &'a str,
    pub slot: &'a str,
    pub counters: &'a [String],
}

/// A column of the entity's key, in a `CREATE TABLE`.
pub struct KeyColumn<'a> {
    pub name: &'a str,
    pub sql_type: &'a str,
    pub parts: Parts,
}

/// A column of the key that is counted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub column: String,
    pub key_type: KeyType,
    /// A table and a column of it.
    pub refers_to: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum KeyType {
    SmallInt,
    Integer,
    BigInt,
    Text,
    Binary,
    Uuid,
}

/// The parts of a `CREATE TABLE` that depend on a column of the entity's key.
#[derive(Default)]
pub struct Parts {
    /// Lines of a comment above the statement.
    pub heading: String,
    /// Between the entity's type and its NOT NULL.
    pub collation: String,
    /// After its NOT NULL.
    pub references: String,
    /// After the primary key.
    pub foreign_keys: String,
}

impl Entity {
    /// ` REFERENCES articles (id) ON DELETE CASCADE`, or nothing.
    pub fn references(&self, database: &(impl Database + ?Sized)) -> String {
        let refers_to = self.refers_to.as_ref().map(|(table, column)| {
            let (table, column) = (qualified(database, table), database.quoted(column));
            format!(" REFERENCES {table} ({column}) ON DELETE CASCADE")
        });
        refers_to.unwrap_or_default()
    }
}

/// `schema.table`, or `table`.
pub fn qualified(database: &(impl Database + ?Sized), name: &str) -> String {
    let names: Vec<_> = name.split('.').map(|name| database.quoted(name)).collect();
    names.join(".")
}

impl CreateTable<'_> {
    pub fn statement(&self) -> String {
        let facts = self.database.facts();
        let quoted = |name: &str| self.database.quoted(name);
        let mut key = Vec::new();
        let mut foreign_keys = self.foreign_keys.clone();
        for column in &self.entity {
            let parts = &column.parts;
            let rest = format!("{}NOT NULL{}", parts.collation, parts.references);
            key.push((quoted(column.name), column.sql_type, rest));
            foreign_keys += &parts.foreign_keys;
        }
        for (name, sql_type) in [(self.day, "DATE"), (self.slot, "SMALLINT")] {
            key.push((quoted(name), sql_type, "NOT NULL".to_owned()));
        }
        let counters = self.counters.iter().map(|counter| {
            let name = quoted(counter);
            let rest = format!("NOT NULL DEFAULT 0{}", facts.check.replace("{}", &name));
            (name, "BIGINT", rest)
        });
        let counters: Vec<_> = counters.collect();

        let columns = || key.iter().chain(&counters);
        let names = columns().map(|(name, ..)| name.chars().count());
        let name_width = names.max().unwrap_or(0);
        let types = columns().map(|(_, sql_type, _)| sql_type.len());
        let type_width = types.max().unwrap_or(0);
        let lines = |columns: &[(String, &str, String)]| {
            let lines = columns.iter().map(|(name, sql_type, rest)| {
                format!("    {name:name_width$} {sql_type:type_width$} {rest},\n")
            });
            lines.collect::<String>()
        };
        let names: Vec<_> = key.iter().map(|(name, ..)| &**name).collect();
        format!(
            "CREATE TABLE {} (\n{}{}{}{}    PRIMARY KEY ({}){}\n);\n",
            self.table,
            lines(&key),
            facts.above_counters,
            lines(&counters),
            facts.above_key,
            names.join(", "),
            foreign_keys,
        )
    }
}
