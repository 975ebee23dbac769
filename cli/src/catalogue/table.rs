//! Tables, with their columns, indexes and foreign keys.

use std::fmt;
use std::ops::RangeInclusive;

use super::did_you_mean;

/// The name of a table to look for.
#[derive(Clone, Copy)]
pub struct Named<'n> {
    /// `None` if the table is found without it.
    pub schema: Option<&'n str>,
    pub name: &'n str,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// `None` if the table is found without it.
    pub schema: Option<String>,
    /// The table's schema, which is always set. On MySQL, this is the database.
    pub in_schema: String,
    pub name: String,
    pub columns: Vec<Column>,
    pub primary_key: Vec<String>,
    /// Includes the primary key's index.
    pub indexes: Vec<Index>,
    pub wide_foreign_keys: Vec<WideForeignKey>,
    /// The SQL of its CHECKs. On SQLite, its `CREATE TABLE`, and then its `CREATE INDEX`es.
    pub checks: Vec<String>,
    /// Whether it's a `STRICT` table on SQLite, which has no DATE, SMALLINT or BIGINT.
    pub strict: bool,
    /// Whether it's a partitioned table on PostgreSQL.
    pub partitioned: bool,
    /// The table that also contains this table's rows, because this one is its partition or
    /// inherits from it. Only on PostgreSQL.
    pub part_of: Option<String>,
    /// A table that inherits from this one, so that its rows are also here.
    pub inherited_by: Option<String>,
    /// Why the table can lose rows: it's `UNLOGGED` on PostgreSQL, or has an engine without
    /// transactions on MySQL.
    pub unsafe_storage: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// As the database writes it.
    pub sql_type: String,
    pub kind: Kind,
    pub nullable: bool,
    /// As the database writes it. `None` if it's NULL, too.
    pub default: Option<String>,
    pub auto_increment: bool,
    /// Whether the database computes it, so that it's read-only.
    pub generated: bool,
    /// Its collation, if that treats different texts as equal, for example 'Foo' and 'foo', or on
    /// MySQL 'résumé' and 'resume', or 'foo ' and 'foo'.
    pub loose_collation: Option<String>,
    /// Whether it's computed whenever it's read. Not known on SQLite.
    pub not_stored: bool,
    pub comment: Option<String>,
    /// The column that a foreign key of only this column refers to.
    pub refers_to: Option<Parent>,
    /// What other foreign keys of only this column refer to.
    pub also_refers_to: Vec<Parent>,
}

/// A foreign key of several columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideForeignKey {
    pub name: String,
    /// What its first column refers to.
    pub parent: Parent,
}

/// A column that a foreign key refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    pub in_schema: String,
    pub table: String,
    pub column: String,
    /// What `ON DELETE` does, for example `CASCADE` or `SET NULL`.
    pub on_delete: String,
    pub on_update: String,
    /// `NOT DEFERRABLE`, `DEFERRABLE` or `DEFERRABLE INITIALLY DEFERRED`. SQLite's catalogue
    /// doesn't have it.
    pub deferrable: String,
    /// Whether every row refers to one that exists. On PostgreSQL, a `NOT VALID` key acts and
    /// checks new rows, but older rows may refer to nothing.
    pub valid: bool,
}

/// The types of columns, as far as they matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    SmallInt,
    Integer,
    BigInt,
    /// TINYINT and MEDIUMINT on MySQL.
    OtherInteger,
    /// Unsigned integers of any size on MySQL.
    Unsigned,
    Text,
    Binary,
    /// Bytes on SQLite.
    Uuid,
    Date,
    /// A date and a time, without a time zone.
    Timestamp,
    /// Floating point of any size.
    Real,
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    pub name: String,
    /// Names of columns. An expression is listed as it's written.
    pub columns: Vec<String>,
    /// The columns' collations in this index. Only on SQLite, where they can differ from those of
    /// the table's columns.
    pub collations: Vec<Option<String>>,
    /// The columns in PostgreSQL's `INCLUDE`.
    pub included: Vec<String>,
    pub unique: bool,
    pub primary: bool,
    /// Whether it can't be relied on to find a single row by these values: it has a condition,
    /// isn't valid, or allows a value once per range of time.
    pub partial: bool,
    /// Whether it contains an expression, or a column prefix.
    pub expression: bool,
    /// Whether two rows can have the same values until a transaction ends.
    pub deferrable: bool,
}

impl Parent {
    pub fn cascades(&self) -> bool {
        self.on_delete == "CASCADE"
    }

    /// Whether deleting the row that it refers to also deletes or changes rows.
    pub fn deletes(&self) -> bool {
        !["NO ACTION", "RESTRICT"].contains(&&*self.on_delete)
    }

    /// Whether updating the row that it refers to also changes rows.
    pub fn updates(&self) -> bool {
        !["NO ACTION", "RESTRICT"].contains(&&*self.on_update)
    }

    pub fn is_deferrable(&self) -> bool {
        self.deferrable != "NOT DEFERRABLE"
    }

    /// Whether both are the same column.
    pub fn is_same(&self, other: &Parent) -> bool {
        (&self.in_schema, &self.table) == (&other.in_schema, &other.table)
            && self.column == other.column
    }
}

impl Column {
    /// Returns what the foreign keys of only this column refer to.
    pub fn parents(&self) -> impl Iterator<Item = &Parent> {
        self.refers_to.iter().chain(&self.also_refers_to)
    }

    /// Returns the type without its length or precision: `timestamp without time zone` for
    /// `timestamp(3) without time zone`.
    pub fn plain_type(&self) -> String {
        let mut sql_type = self.sql_type.to_lowercase();
        if let (Some(begin), Some(end)) = (sql_type.find('('), sql_type.find(')')) {
            sql_type.replace_range(begin..=end, "");
        }
        sql_type
    }
}

impl Kind {
    /// Whether a key of the other kind can hold all of its values. Always true between integers if
    /// one is `Unsigned` or `OtherInteger`: their sizes aren't known here, so the key may still
    /// refuse a value.
    pub fn fits(self, other: Kind) -> bool {
        use Kind::{BigInt, Integer, SmallInt};
        let kinds = (self, other);
        let is_wider = matches!(kinds, (Integer | BigInt, SmallInt) | (BigInt, Integer));
        self == other || self.is_integer() && other.is_integer() && !is_wider
    }

    pub fn is_integer(self) -> bool {
        use Kind::{BigInt, Integer, OtherInteger, SmallInt, Unsigned};
        matches!(self, SmallInt | Integer | BigInt | OtherInteger | Unsigned)
    }
}

impl Table {
    /// Whether both are the same table.
    pub fn is(&self, other: &Table) -> bool {
        (&self.in_schema, &self.name) == (&other.in_schema, &other.name)
    }

    /// Whether a definition's `table` or `schema.table` means this table. The schema may have been
    /// renamed since, so it isn't compared.
    pub fn is_named(&self, name: &str) -> bool {
        let schema = name.strip_suffix(&self.name);
        schema.is_some_and(|schema| schema.is_empty() || schema.ends_with('.'))
    }

    /// Whether a foreign key refers to this table.
    pub fn is_parent(&self, parent: &Parent) -> bool {
        (&self.in_schema, &self.name) == (&parent.in_schema, &parent.table)
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns ` (did you mean likes?)` if a column's name is like this mistyped one, and otherwise
    /// an empty text.
    pub fn did_you_mean(&self, mistyped: &str) -> String {
        did_you_mean(mistyped, self.columns.iter().map(|column| &*column.name))
    }

    /// Returns the keys with this number of columns: the primary key, and the unique indexes that
    /// always find a single row.
    pub fn keys(&self, len: usize) -> Vec<Vec<Column>> {
        let columns = |names: &[String]| -> Option<Vec<Column>> {
            let columns = names.iter().map(|name| self.column(name).cloned());
            columns.collect()
        };
        let finds_one_row = |index: &&Index| {
            index.unique
                && !index.primary
                && !index.partial
                && !index.expression
                && !index.deferrable
        };
        // A unique index can have any number of rows with a NULL.
        let has_null = |key: &Vec<Column>| key.iter().any(|column| column.nullable);
        let unique_indexes = self.indexes.iter().filter(finds_one_row);
        let unique_keys = unique_indexes
            .filter_map(|index| columns(&index.columns))
            .filter(|key| !has_null(key));
        let mut keys: Vec<Vec<Column>> = Vec::new();
        for key in columns(&self.primary_key).into_iter().chain(unique_keys) {
            // The same columns in another order are the same key.
            let is_known = keys.iter().any(|known| {
                known.len() == key.len() && key.iter().all(|column| known.contains(column))
            });
            if key.len() == len && !is_known {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns the minimum and maximum of a column's integer type, unless that's any `i64`. SQLite
    /// stores any integer in any column, so there it's the range of the type that Diesel reads.
    pub fn range(&self, column: &str) -> Option<RangeInclusive<i64>> {
        use Kind::{Integer, OtherInteger, SmallInt, Unsigned};
        // STRICT tables on SQLite have only 64-bit integers.
        let column = self.column(column).filter(|_| !self.strict)?;
        let plain_type = column.plain_type();
        let type_name = plain_type.split(' ').next()?;
        let bits = match (column.kind, type_name) {
            (OtherInteger | Unsigned, "tinyint") => 8,
            (OtherInteger | Unsigned, "mediumint") => 24,
            (SmallInt, _) | (Unsigned, "smallint") => 16,
            (Integer, _) | (Unsigned, "int") => 32,
            _ => 64,
        };
        match column.kind {
            // A BIGINT UNSIGNED can be larger, but a counter is an i64.
            Unsigned if bits == 64 => Some(0..=i64::MAX),
            Unsigned => Some(0..=(1 << bits) - 1),
            _ if bits == 64 => None,
            _ => Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1),
        }
    }
}

/// Writes it as you would name it on the command line.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
