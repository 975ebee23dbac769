//! The rows that each database's catalogue is asked for: one for each column, one for each
//! column of an index, and one for each foreign key of one column.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::connection::AnyConnection;
use crate::sql::{Sql, sql};
use crate::table::{Column, Index, Kind, Named, Parent, Table};

/// Ordered by table, and by the columns' order in it.
#[derive(Clone, Queryable)]
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
    more: MoreRow,
}

/// The last columns of a [`ColumnRow`]. Diesel has tuples of up to 16.
#[derive(Clone, Queryable)]
struct MoreRow {
    loose_collation: Option<String>,
    equals_in: Option<String>,
    is_not_stored: bool,
    column_comment: Option<String>,
}

#[rustfmt::skip]
type ColumnTypes = (
    Nullable<Text>, Text, Text, Nullable<Text>, Bool, Bool, Nullable<Text>,
    Text, Text, Bool, Nullable<Text>, Bool, Bool,
    (Nullable<Text>, Nullable<Text>, Bool, Nullable<Text>),
);

/// Ordered by index, and by the columns' order in it.
#[derive(Clone, Queryable)]
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

impl IndexRow {
    fn key(&self) -> [&str; 3] {
        [&self.in_schema, &self.table_name, &self.index_name]
    }
}

type IndexTypes = (Text, Text, Text, Bool, Bool, Bool, Bool, Text, Bool);

/// The schema, the table and the column, and what it refers to.
type ForeignKeyRow = (String, String, String, Parent);
type ForeignKeyTypes = (Text, Text, Text, (Text, Text, Text, Text, Text, Text));

/// The queries of a database's catalogue. Their columns are those of the rows above, and `{where}`
/// is the condition of the tables to read.
pub struct Catalogue {
    pub columns: &'static str,
    pub indexes: &'static str,
    pub foreign_keys: &'static str,
    /// The names of the foreign keys of several columns, up to a schema.
    pub wide_foreign_keys: &'static str,
    /// The condition of tables of a name, or of all but the database's own.
    pub named: fn(Option<Named<'_>>) -> Sql,
    /// The query of what has a name and is no table: `a view`.
    pub other: fn(Named<'_>) -> Sql,
    /// Whether SQL always names the schema.
    pub names_schema: bool,
    /// The kind of an SQL type, as the catalogue writes it.
    pub kind_of: fn(&str) -> Kind,
}

impl Catalogue {
    pub fn other(&self, name: Named<'_>, conn: &mut AnyConnection) -> Result<Option<String>> {
        let others: Vec<String> = (self.other)(name).typed::<Text>().load(conn)?;
        Ok(others.into_iter().next())
    }

    pub fn tables(&self, name: Option<Named<'_>>, conn: &mut AnyConnection) -> Result<Vec<Table>> {
        let query = |template: &str| {
            let mut parts = template.split("{where}");
            let first = sql(parts.next().unwrap_or_default());
            parts.fold(first, |query, part| {
                query.then((self.named)(name)).sql(part)
            })
        };
        let rows = query(self.columns).typed::<ColumnTypes>();
        let rows: Vec<ColumnRow> = rows.load(conn)?;
        let of_tables = rows.chunk_by(|one, next| {
            (&one.in_schema, &one.table_name) == (&next.in_schema, &next.table_name)
        });
        let mut tables: Vec<_> = of_tables.map(|rows| table(rows, self)).collect();

        let rows = query(self.indexes).typed::<IndexTypes>();
        let rows: Vec<IndexRow> = rows.load(conn)?;
        for rows in rows.chunk_by(|one, next| one.key() == next.key()) {
            if let Some(table) = find(&mut tables, &rows[0].in_schema, &rows[0].table_name) {
                let index = index(rows);
                if index.primary {
                    table.primary_key = index.columns.clone();
                }
                table.indexes.push(index);
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

fn find<'t>(tables: &'t mut [Table], in_schema: &str, name: &str) -> Option<&'t mut Table> {
    let mut tables = tables.iter_mut();
    tables.find(|table| table.in_schema == in_schema && table.name == name)
}

fn table(rows: &[ColumnRow], catalogue: &Catalogue) -> Table {
    let first = rows[0].clone();
    // PostgreSQL writes `NULL::bigint`.
    let value = |default: &'_ str| default.split("::").next().map(str::to_ascii_uppercase);
    let is_null = |default: &String| value(default).as_deref() == Some("NULL");
    let columns = rows.iter().cloned().map(|row| Column {
        kind: (catalogue.kind_of)(&row.column_type),
        name: row.column_name,
        sql_type: row.column_type,
        nullable: row.is_nullable,
        default: row.column_default.filter(|default| !is_null(default)),
        auto_increment: row.is_auto_increment,
        generated: row.is_generated,
        loose_collation: row.more.loose_collation,
        equals_in: row.more.equals_in,
        not_stored: row.more.is_not_stored,
        comment: row.more.column_comment,
        refers_to: None,
    });
    Table {
        sql_schema: match catalogue.names_schema {
            true => Some(first.in_schema.clone()),
            false => first.schema_name.clone(),
        },
        schema: first.schema_name,
        in_schema: first.in_schema,
        name: first.table_name,
        columns: columns.collect(),
        primary_key: Vec::new(),
        indexes: Vec::new(),
        definition: first.definition,
        strict: first.is_strict,
        partitioned: first.is_partitioned,
        unsafe_storage: first.unsafe_storage,
    }
}

fn index(rows: &[IndexRow]) -> Index {
    let first = rows[0].clone();
    let names = |included| {
        let rows = rows.iter().filter(move |row| row.is_included == included);
        rows.map(|row| row.column_name.clone()).collect()
    };
    Index {
        name: first.index_name,
        columns: names(false),
        included: names(true),
        unique: first.is_unique,
        whole: first.is_whole,
        primary: first.is_primary,
        of_constraint: first.is_of_constraint,
    }
}
