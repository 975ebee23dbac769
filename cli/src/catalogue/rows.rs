//! What each database's catalogue is asked for: a row a column, and a row a column of
//! an index.

use diesel::QueryableByName;
use diesel::sql_types::{Bool, Nullable, Text};

use super::{Column, Index, Kind, Table};

/// Ordered by table, and by the columns' order in it.
#[derive(Debug, QueryableByName)]
pub struct ColumnRow {
    #[diesel(sql_type = Nullable<Text>)]
    pub schema_name: Option<String>,
    #[diesel(sql_type = Text)]
    pub table_name: String,
    #[diesel(sql_type = Nullable<Text>)]
    pub definition: Option<String>,
    #[diesel(sql_type = Bool)]
    pub is_strict: bool,
    #[diesel(sql_type = Text)]
    pub column_name: String,
    #[diesel(sql_type = Text)]
    pub column_type: String,
    #[diesel(sql_type = Bool)]
    pub is_nullable: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pub column_default: Option<String>,
    #[diesel(sql_type = Bool)]
    pub is_auto_increment: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pub loose_collation: Option<String>,
}

/// Ordered by index, and by the columns' order in it.
#[derive(Debug, QueryableByName)]
pub struct IndexRow {
    #[diesel(sql_type = Nullable<Text>)]
    pub schema_name: Option<String>,
    #[diesel(sql_type = Text)]
    pub table_name: String,
    #[diesel(sql_type = Text)]
    pub index_name: String,
    #[diesel(sql_type = Bool)]
    pub is_unique: bool,
    #[diesel(sql_type = Bool)]
    pub is_primary: bool,
    #[diesel(sql_type = Bool)]
    pub is_of_constraint: bool,
    #[diesel(sql_type = Text)]
    pub column_name: String,
    #[diesel(sql_type = Bool)]
    pub is_included: bool,
}

pub fn into_tables(
    columns: Vec<ColumnRow>,
    indexes: Vec<IndexRow>,
    kind_of: fn(&str) -> Kind,
) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for row in columns {
        let is_new = tables
            .last()
            .is_none_or(|t| (&t.schema, &t.name) != (&row.schema_name, &row.table_name));
        if is_new {
            tables.push(Table {
                schema: row.schema_name,
                name: row.table_name,
                columns: Vec::new(),
                primary_key: Vec::new(),
                indexes: Vec::new(),
                definition: row.definition,
                strict: row.is_strict,
            });
        }
        if let Some(table) = tables.last_mut() {
            table.columns.push(Column {
                kind: kind_of(&row.column_type),
                name: row.column_name,
                sql_type: row.column_type,
                nullable: row.is_nullable,
                default: row
                    .column_default
                    .filter(|default| !default.to_ascii_uppercase().starts_with("NULL")),
                auto_increment: row.is_auto_increment,
                loose_collation: row.loose_collation,
            });
        }
    }
    for row in indexes {
        let table = tables
            .iter_mut()
            .find(|t| (&t.schema, &t.name) == (&row.schema_name, &row.table_name));
        if let Some(table) = table {
            add_to_index(row, table);
        }
    }
    tables
}

fn add_to_index(row: IndexRow, table: &mut Table) {
    if table
        .indexes
        .last()
        .is_none_or(|i| i.name != row.index_name)
    {
        table.indexes.push(Index {
            name: row.index_name,
            columns: Vec::new(),
            included: Vec::new(),
            unique: row.is_unique,
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
