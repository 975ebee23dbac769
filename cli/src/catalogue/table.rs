//! Tables, with their columns, indexes and foreign keys.

use std::fmt;
use std::ops::RangeInclusive;

/// The name of a table to look for.
#[derive(Clone, Copy)]
pub struct Named<'n> {
    /// `None` for a table that is found without it.
    pub schema: Option<&'n str>,
    pub name: &'n str,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// `None` if the table is found without it.
    pub schema: Option<String>,
    /// The table's schema in any case. A schema of MySQL is a database.
    pub in_schema: String,
    pub name: String,
    pub columns: Vec<Column>,
    pub primary_key: Vec<String>,
    /// With the primary key's.
    pub indexes: Vec<Index>,
    pub wide_foreign_keys: Vec<WideForeignKey>,
    /// The SQL of its CHECKs; on SQLite its `CREATE TABLE`, and then its `CREATE INDEX`es.
    pub checks: Vec<String>,
    /// A `STRICT` table of SQLite, which has no DATE, SMALLINT or BIGINT.
    pub strict: bool,
    /// A partitioned table of PostgreSQL.
    pub partitioned: bool,
    /// The table whose rows its own rows are, too: a table of PostgreSQL that it is a partition of
    /// or inherits from.
    pub part_of: Option<String>,
    /// A table that inherits from it, whose rows are its own, too.
    pub inherited_by: Option<String>,
    /// `UNLOGGED` on PostgreSQL; on MySQL an engine without transactions.
    pub unsafe_storage: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// As the database writes it.
    pub sql_type: String,
    pub kind: Kind,
    pub nullable: bool,
    /// As the database writes it; `None` also for NULL.
    pub default: Option<String>,
    pub auto_increment: bool,
    /// Computed by the database, and read-only.
    pub generated: bool,
    /// Its collation, if that takes different texts as equal: 'Foo' and 'foo', or on MySQL
    /// 'résumé' and 'resume', or 'foo ' and 'foo'.
    pub loose_collation: Option<String>,
    /// Computed whenever it is read. Not known on SQLite.
    pub not_stored: bool,
    pub comment: Option<String>,
    /// The column that a foreign key of this column alone refers to.
    pub refers_to: Option<Parent>,
    /// What other foreign keys of this column alone refer to.
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
    /// The action of `ON DELETE`, such as `CASCADE` or `SET NULL`.
    pub on_delete: String,
    pub on_update: String,
    /// `NOT DEFERRABLE`, `DEFERRABLE` or `DEFERRABLE INITIALLY DEFERRED`. SQLite's catalogue does
    /// not have it.
    pub deferrable: String,
    /// Whether each row refers to one that exists. On PostgreSQL, a key that is `NOT VALID` acts
    /// and refuses new rows, but rows that were there before it can refer to nothing.
    pub valid: bool,
}

/// The types of columns, as far as they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    SmallInt,
    Integer,
    BigInt,
    /// MySQL's TINYINT and MEDIUMINT.
    OtherInteger,
    /// MySQL's integers of any size without a sign.
    Unsigned,
    Text,
    Binary,
    /// On SQLite these are bytes.
    Uuid,
    Date,
    /// A day and a time, without a time zone.
    Timestamp,
    /// Floating point of any size.
    Real,
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    pub name: String,
    /// An expression is here as it is written.
    pub columns: Vec<String>,
    /// The collation of each of them on SQLite, where it can be another one than the column's.
    pub collations: Vec<Option<String>>,
    /// PostgreSQL's `INCLUDE`.
    pub included: Vec<String>,
    pub unique: bool,
    pub primary: bool,
    /// It does not find one row by these values: it has a condition, is not valid, or has a value
    /// once for each time.
    pub partial: bool,
    /// It has an expression, or the beginning of a column.
    pub expression: bool,
    /// Two rows can have the same values until a transaction ends.
    pub deferrable: bool,
}

impl Parent {
    pub fn cascades(&self) -> bool {
        self.on_delete == "CASCADE"
    }

    /// Whether it deletes rows or changes them when the row that they refer to is deleted.
    pub fn deletes(&self) -> bool {
        !["NO ACTION", "RESTRICT"].contains(&&*self.on_delete)
    }

    /// Whether it changes rows when the row that they refer to is updated.
    pub fn updates(&self) -> bool {
        !["NO ACTION", "RESTRICT"].contains(&&*self.on_update)
    }

    pub fn is_deferrable(&self) -> bool {
        self.deferrable != "NOT DEFERRABLE"
    }

    pub fn is_same(&self, other: &Parent) -> bool {
        (&self.in_schema, &self.table) == (&other.in_schema, &other.table)
            && self.column == other.column
    }
}

impl Column {
    /// What the foreign keys of this column alone refer to.
    pub fn parents(&self) -> impl Iterator<Item = &Parent> {
        self.refers_to.iter().chain(&self.also_refers_to)
    }

    /// `timestamp without time zone` of `timestamp(3) without time zone`.
    pub fn plain_type(&self) -> String {
        let mut sql_type = self.sql_type.to_lowercase();
        if let (Some(begin), Some(end)) = (sql_type.find('('), sql_type.find(')')) {
            sql_type.replace_range(begin..=end, "");
        }
        sql_type
    }
}

impl Kind {
    /// Whether a key of the other kind can have each of its values. The sizes of `Unsigned` and
    /// `OtherInteger` are not known here: these may have a value that the key refuses.
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

    /// Whether a definition names it, as `table` or `schema.table`. The schema can have another
    /// name now.
    pub fn is_named(&self, name: &str) -> bool {
        let schema = name.strip_suffix(&self.name);
        schema.is_some_and(|schema| schema.is_empty() || schema.ends_with('.'))
    }

    /// Whether a foreign key refers to it.
    pub fn is_parent(&self, parent: &Parent) -> bool {
        (&self.in_schema, &self.name) == (&parent.in_schema, &parent.table)
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The keys of this number of columns: the primary key, and the unique indexes that find one
    /// row at any time.
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
        // A unique index has any number of rows with a NULL.
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

    /// The least and the greatest integer of a column's type, unless that is any `i64`. On SQLite,
    /// which stores any integer in each column, it is the type that Diesel reads.
    pub fn range(&self, column: &str) -> Option<RangeInclusive<i64>> {
        use Kind::{Integer, OtherInteger, SmallInt, Unsigned};
        // A STRICT table of SQLite has no types of fewer bits.
        let column = self.column(column).filter(|_| !self.strict)?;
        let bits = match (column.kind, column.plain_type().split(' ').next()?) {
            (OtherInteger | Unsigned, "tinyint") => 8,
            (OtherInteger | Unsigned, "mediumint") => 24,
            (SmallInt, _) | (Unsigned, "smallint") => 16,
            (Integer, _) | (Unsigned, "int") => 32,
            _ => 64,
        };
        match column.kind {
            // A BIGINT UNSIGNED has greater numbers, too, but no counter has: it is an i64.
            Unsigned => Some(0..=i64::MAX >> 63_u32.saturating_sub(bits)),
            _ if bits == 64 => None,
            _ => Some(-1 << (bits - 1)..=(1 << (bits - 1)) - 1),
        }
    }
}

/// As it is named on the command line.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
