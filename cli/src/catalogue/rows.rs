//! What each database's catalogue is asked for: a row a column, a row a column of an
//! index, and a row a foreign key of one column.

use diesel::QueryableByName;
use diesel::sql_types::{Bool, Nullable, Text};

use super::{Column, Index, Kind, Parent, Table};

/// Ordered by table, and by the columns' order in it.
#[derive(Debug, QueryableByName)]
pub struct ColumnRow {
    #[diesel(sql_type = Nullable<Text>)]
    pub schema_name: Option<String>,
    #[diesel(sql_type = Text)]
    pub in_schema: String,
    #[diesel(sql_type = Text)]
    pub table_name: String,
    #[diesel(sql_type = Nullable<Text>)]
    pub definition: Option<String>,
    #[diesel(sql_type = Bool)]
    pub is_strict: bool,
    #[diesel(sql_type = Bool)]
    pub is_partitioned: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pub unsafe_storage: Option<String>,
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
    #[diesel(sql_type = Bool)]
    pub is_generated: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pub loose_collation: Option<String>,
}

/// Ordered by index, and by the columns' order in it.
#[derive(Debug, QueryableByName)]
pub struct IndexRow {
    #[diesel(sql_type = Text)]
    pub in_schema: String,
    #[diesel(sql_type = Text)]
    pub table_name: String,
    #[diesel(sql_type = Text)]
    pub index_name: String,
    #[diesel(sql_type = Bool)]
    pub is_unique: bool,
    #[diesel(sql_type = Bool)]
    pub is_whole: bool,
    #[diesel(sql_type = Bool)]
    pub is_primary: bool,
    #[diesel(sql_type = Bool)]
    pub is_of_constraint: bool,
    #[diesel(sql_type = Text)]
    pub column_name: String,
    #[diesel(sql_type = Bool)]
    pub is_included: bool,
}

#[derive(Debug, QueryableByName)]
pub struct ForeignKeyRow {
    #[diesel(sql_type = Text)]
    pub in_schema: String,
    #[diesel(sql_type = Text)]
    pub table_name: String,
    #[diesel(sql_type = Text)]
    pub column_name: String,
    #[diesel(sql_type = Text)]
    pub parent_schema: String,
    #[diesel(sql_type = Text)]
    pub parent_table: String,
    #[diesel(sql_type = Text)]
    pub parent_column: String,
    #[diesel(sql_type = Bool)]
    pub cascades: bool,
}

pub fn into_tables(
    columns: Vec<ColumnRow>,
    indexes: Vec<IndexRow>,
    foreign_keys: Vec<ForeignKeyRow>,
    kind_of: fn(&str) -> Kind,
) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for row in columns {
        let is_new = tables
            .last()
            .is_none_or(|t| (&t.in_schema, &t.name) != (&row.in_schema, &row.table_name));
        if is_new {
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
                generated: row.is_generated,
                loose_collation: row.loose_collation,
                refers_to: None,
            });
        }
    }
    for row in indexes {
        if let Some(table) = find(&mut tables, &row.in_schema, &row.table_name) {
            add_to_index(row, table);
        }
    }
    for row in foreign_keys {
        let table = find(&mut tables, &row.in_schema, &row.table_name);
        let mut columns = table.into_iter().flat_map(|table| &mut table.columns);
        if let Some(column) = columns.find(|column| column.name == row.column_name) {
            // The first one, where it has several.
            column.refers_to.get_or_insert(Parent {
                in_schema: row.parent_schema,
                table: row.parent_table,
                column: row.parent_column,
                cascades: row.cascades,
            });
        }
    }
    tables
}

fn find<'t>(tables: &'t mut [Table], in_schema: &str, name: &str) -> Option<&'t mut Table> {
    let mut tables = tables.iter_mut();
    tables.find(|table| table.in_schema == in_schema && table.name == name)
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
