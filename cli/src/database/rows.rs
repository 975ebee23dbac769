//! The rows that each database's catalogue is asked for: one for each column, one for each
//! column of an index, and one for each foreign key of one column.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::catalogue::{Column, Index, Kind, Named, Parent, Table};
use crate::connection::AnyConnection;
use crate::sql::{Sql, sql};

/// Ordered by table, and by the columns' order in it.
#[derive(Queryable)]
struct ColumnRow {
    schema_name: Option<String>,
    in_schema: String,
    table_name: String,
    definition: Option<String>,
    is_strict: bool,
    is_partitioned: bool,
    unsafe_storage: Option<String>,
    column_name: String,
    column_type: String,
    is_nullable: bool,
    column_default: Option<String>,
    is_auto_increment: bool,
    is_generated: bool,
    loose_collation: Option<String>,
}

#[rustfmt::skip]
type ColumnTypes = (
    Nullable<Text>, Text, Text, Nullable<Text>, Bool, Bool, Nullable<Text>,
    Text, Text, Bool, Nullable<Text>, Bool, Bool, Nullable<Text>,
);

/// Ordered by index, and by the columns' order in it.
#[derive(Queryable)]
struct IndexRow {
    in_schema: String,
    table_name: String,
    index_name: String,
    is_unique: bool,
    is_whole: bool,
    is_primary: bool,
    is_of_constraint: bool,
    column_name: String,
    is_included: bool,
}

type IndexTypes = (Text, Text, Text, Bool, Bool, Bool, Bool, Text, Bool);

/// The schema, the table and the column, and what it refers to.
type ForeignKeyRow = (String, String, String, Parent);
type ForeignKeyTypes = (Text, Text, Text, (Text, Text, Text, Bool));

/// The queries of a database's catalogue. Their columns are those of the rows above, and `{where}`
/// is the condition of the tables to read.
pub struct Catalogue {
    pub columns: &'static str,
    pub indexes: &'static str,
    pub foreign_keys: &'static str,
    /// The condition of tables of a name, or of all but the database's own.
    pub named: fn(Option<Named<'_>>) -> Sql,
    /// The kind of an SQL type, as the catalogue writes it.
    pub kind_of: fn(&str) -> Kind,
}

impl Catalogue {
    pub fn tables(&self, name: Option<Named<'_>>, conn: &mut AnyConnection) -> Result<Vec<Table>> {
        let query = |template: &str| {
            let mut parts = template.split("{where}");
            let first = sql(parts.next().unwrap_or_default());
            parts.fold(first, |query, part| {
                query.then((self.named)(name)).sql(part)
            })
        };
        let mut tables = Vec::new();
        let columns = query(self.columns).typed::<ColumnTypes>();
        for row in columns.load::<ColumnRow>(conn)? {
            add_column(row, self.kind_of, &mut tables);
        }
        let indexes = query(self.indexes).typed::<IndexTypes>();
        for row in indexes.load::<IndexRow>(conn)? {
            if let Some(table) = find(&mut tables, &row.in_schema, &row.table_name) {
                add_to_index(row, table);
            }
        }
        let foreign_keys = query(self.foreign_keys).typed::<ForeignKeyTypes>();
        for (in_schema, table, name, parent) in foreign_keys.load::<ForeignKeyRow>(conn)? {
            let table = find(&mut tables, &in_schema, &table);
            let mut columns = table.into_iter().flat_map(|table| &mut table.columns);
            if let Some(column) = columns.find(|column| column.name == name) {
                // The first one of several.
                column.refers_to.get_or_insert(parent);
            }
        }
        Ok(tables)
    }
}

fn add_column(row: ColumnRow, kind_of: fn(&str) -> Kind, tables: &mut Vec<Table>) {
    let is_of =
        |table: &Table| (&table.in_schema, &table.name) == (&row.in_schema, &row.table_name);
    if !tables.last().is_some_and(is_of) {
        tables.push(Table {
            schema: row.schema_name,
            in_schema: row.in_schema,
            name: row.table_name,
            columns: Vec::new(),
            primary_key: Vec::new(),
            indexes: Vec::new(),
            definition: row.definition,
            strict: row.is_strict,
            partitioned: row.is_partitioned,
            unsafe_storage: row.unsafe_storage,
        });
    }
    let is_null = |default: &String| default.to_ascii_uppercase().starts_with("NULL");
    if let Some(table) = tables.last_mut() {
        table.columns.push(Column {
            kind: kind_of(&row.column_type),
            name: row.column_name,
            sql_type: row.column_type,
            nullable: row.is_nullable,
            default: row.column_default.filter(|default| !is_null(default)),
            auto_increment: row.is_auto_increment,
            generated: row.is_generated,
            loose_collation: row.loose_collation,
            refers_to: None,
        });
    }
}

fn find<'t>(tables: &'t mut [Table], in_schema: &str, name: &str) -> Option<&'t mut Table> {
    let mut tables = tables.iter_mut();
    tables.find(|table| table.in_schema == in_schema && table.name == name)
}

fn add_to_index(row: IndexRow, table: &mut Table) {
    let last = table.indexes.last();
    if last.is_none_or(|last| last.name != row.index_name) {
        table.indexes.push(Index {
            name: row.index_name,
            columns: Vec::new(),
            included: Vec::new(),
            unique: row.is_unique,
            whole: row.is_whole,
            primary: row.is_primary,
            of_constraint: row.is_of_constraint,
        });
    }
    if let Some(index) = table.indexes.last_mut() {
        if row.is_included {
            index.included.push(row.column_name);
        } else {
            if row.is_primary {
                table.primary_key.push(row.column_name.clone());
            }
            index.columns.push(row.column_name);
        }
    }
}
