//! The rows that every database's catalogue is asked for: one per column, one per column of an
//! index, one per foreign key, and one per CHECK. They are loaded by column name.

use anyhow::Result;
use diesel::sql_types::{Bool, Nullable, Text};
use diesel::{QueryableByName, RunQueryDsl};

use super::table::{Column, Index, Kind, Named, Parent, Table, WideForeignKey};
use crate::connection::AnyConnection;
use crate::sql::{Sql, sql, sql_with};

/// A column and its table. Ordered by table, and then by the order of the columns. Every row
/// repeats the table, because tables are found by their columns: each has at least one.
#[derive(QueryableByName)]
struct ColumnOfTable {
    #[diesel(embed)]
    table: TableRow,
    #[diesel(embed)]
    column: ColumnRow,
}

#[derive(QueryableByName)]
struct TableRow {
    #[diesel(sql_type = Nullable<Text>)]
    schema_name: Option<String>,
    #[diesel(sql_type = Text)]
    in_schema: String,
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Bool)]
    is_strict: bool,
    #[diesel(sql_type = Bool)]
    is_partitioned: bool,
    #[diesel(sql_type = Nullable<Text>)]
    part_of: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    inherited_by: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    unsafe_storage: Option<String>,
}

#[derive(QueryableByName)]
struct ColumnRow {
    #[diesel(sql_type = Text)]
    column_name: String,
    #[diesel(sql_type = Text)]
    column_type: String,
    #[diesel(sql_type = Bool)]
    is_nullable: bool,
    #[diesel(sql_type = Nullable<Text>)]
    column_default: Option<String>,
    #[diesel(sql_type = Bool)]
    is_auto_increment: bool,
    #[diesel(sql_type = Bool)]
    is_generated: bool,
    #[diesel(sql_type = Nullable<Text>)]
    loose_collation: Option<String>,
    #[diesel(sql_type = Bool)]
    is_not_stored: bool,
    #[diesel(sql_type = Nullable<Text>)]
    column_comment: Option<String>,
}

/// A column of an index. Ordered by table, by index, and then by the order of the columns. The
/// primary key is the first index.
#[derive(QueryableByName)]
struct IndexRow {
    #[diesel(sql_type = Text)]
    in_schema: String,
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    index_name: String,
    #[diesel(sql_type = Bool)]
    is_unique: bool,
    #[diesel(sql_type = Bool)]
    is_primary: bool,
    #[diesel(sql_type = Bool)]
    is_partial: bool,
    #[diesel(sql_type = Bool)]
    is_deferrable: bool,
    /// The name of the column, or the expression.
    #[diesel(sql_type = Text)]
    column_name: String,
    #[diesel(sql_type = Nullable<Text>)]
    collation: Option<String>,
    #[diesel(sql_type = Bool)]
    is_included: bool,
    #[diesel(sql_type = Bool)]
    is_expression: bool,
}

#[derive(QueryableByName)]
struct ForeignKeyRow {
    #[diesel(sql_type = Text)]
    in_schema: String,
    #[diesel(sql_type = Text)]
    table_name: String,
    /// The first column, and the column that it refers to.
    #[diesel(sql_type = Text)]
    column_name: String,
    /// The key's name, if it has several columns.
    #[diesel(sql_type = Nullable<Text>)]
    wide_name: Option<String>,
    #[diesel(sql_type = Text)]
    parent_schema: String,
    #[diesel(sql_type = Text)]
    parent_table: String,
    #[diesel(sql_type = Text)]
    parent_column: String,
    #[diesel(sql_type = Text)]
    on_delete: String,
    #[diesel(sql_type = Text)]
    on_update: String,
    #[diesel(sql_type = Text)]
    deferrability: String,
    #[diesel(sql_type = Bool)]
    is_valid: bool,
}

/// The SQL of one or several CHECKs.
#[derive(QueryableByName)]
struct CheckRow {
    #[diesel(sql_type = Text)]
    in_schema: String,
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    check_sql: String,
}

/// The queries of a database's catalogue. Their columns have the names of the fields above, and
/// `{where}` is replaced by the condition for the tables to read.
pub struct Catalogue {
    pub columns: &'static str,
    pub indexes: &'static str,
    pub foreign_keys: &'static str,
    pub checks: &'static str,
    /// The condition for all tables except the database's own.
    pub all: &'static str,
    /// The condition for the tables called `{name}` that are found without a schema.
    pub by_name: &'static str,
    /// The condition for the tables called `{name}` in `{schema}`.
    pub by_schema: &'static str,
    /// Returns the kind of an SQL type, given as the catalogue writes it.
    pub kind_of: fn(&str) -> Kind,
    /// Adds to a table what no query returns.
    pub complete: fn(&mut Table),
}

impl Catalogue {
    /// Returns the tables with this name, or all tables.
    pub fn tables(&self, name: Option<Named<'_>>, conn: &mut AnyConnection) -> Result<Vec<Table>> {
        let mut tables: Vec<Table> = Vec::new();
        // Read the columns first: they create the tables that the other rows are added to.
        for row in self.query(self.columns, name).load::<ColumnOfTable>(conn)? {
            let column = row.column.into_column(self.kind_of);
            match find(&mut tables, &row.table.in_schema, &row.table.table_name) {
                Some(table) => table.columns.push(column),
                None => tables.push(row.table.into_table(column)),
            }
        }
        for row in self.query(self.indexes, name).load::<IndexRow>(conn)? {
            if let Some(table) = find(&mut tables, &row.in_schema, &row.table_name) {
                row.add_to(table);
            }
        }
        let foreign_keys = self.query(self.foreign_keys, name);
        for row in foreign_keys.load::<ForeignKeyRow>(conn)? {
            if let Some(table) = find(&mut tables, &row.in_schema, &row.table_name) {
                row.add_to(table);
            }
        }
        for row in self.query(self.checks, name).load::<CheckRow>(conn)? {
            if let Some(table) = find(&mut tables, &row.in_schema, &row.table_name) {
                table.checks.push(row.check_sql);
            }
        }
        for table in &mut tables {
            (self.complete)(table);
        }
        Ok(tables)
    }

    /// Makes a query of the catalogue for the tables with this name, or for all tables.
    fn query(&self, template: &str, name: Option<Named<'_>>) -> Sql {
        let with_condition = |condition| template.replace("{where}", condition);
        match name {
            None => sql(with_condition(self.all)),
            Some(Named { schema: None, name }) => {
                sql_with(&with_condition(self.by_name), &[("name", name)])
            }
            Some(Named {
                schema: Some(schema),
                name,
            }) => {
                let values = [("schema", schema), ("name", name)];
                sql_with(&with_condition(self.by_schema), &values)
            }
        }
    }
}

/// Finds the table with this name among those that have been read.
fn find<'t>(tables: &'t mut [Table], in_schema: &str, name: &str) -> Option<&'t mut Table> {
    tables
        .iter_mut()
        .find(|table| table.in_schema == in_schema && table.name == name)
}

impl TableRow {
    /// Makes a table from the row of its first column.
    fn into_table(self, first_column: Column) -> Table {
        Table {
            schema: self.schema_name,
            in_schema: self.in_schema,
            name: self.table_name,
            columns: vec![first_column],
            strict: self.is_strict,
            partitioned: self.is_partitioned,
            part_of: self.part_of,
            inherited_by: self.inherited_by,
            unsafe_storage: self.unsafe_storage,
            ..Table::default()
        }
    }
}

impl ColumnRow {
    fn into_column(self, kind_of: fn(&str) -> Kind) -> Column {
        // PostgreSQL writes `NULL::bigint`.
        let is_null = |default: &str| {
            let value = default.split("::").next().unwrap_or_default();
            value.eq_ignore_ascii_case("NULL")
        };
        Column {
            kind: kind_of(&self.column_type),
            name: self.column_name,
            sql_type: self.column_type,
            nullable: self.is_nullable,
            default: self.column_default.filter(|default| !is_null(default)),
            auto_increment: self.is_auto_increment,
            generated: self.is_generated,
            loose_collation: self.loose_collation,
            not_stored: self.is_not_stored,
            comment: self.column_comment,
            refers_to: None,
            also_refers_to: Vec::new(),
        }
    }
}

impl IndexRow {
    /// Adds a column of an index to its table.
    fn add_to(self, table: &mut Table) {
        if self.is_primary {
            table.primary_key.push(self.column_name.clone());
        }
        // The rows of an index come one after the other, so a known index is the last one.
        let is_known = |last: &Index| last.name == self.index_name;
        if !table.indexes.last().is_some_and(is_known) {
            table.indexes.push(Index {
                name: self.index_name,
                unique: self.is_unique,
                primary: self.is_primary,
                partial: self.is_partial,
                deferrable: self.is_deferrable,
                ..Index::default()
            });
        }
        if let Some(index) = table.indexes.last_mut() {
            index.expression |= self.is_expression;
            if self.is_included {
                index.included.push(self.column_name);
            } else {
                index.columns.push(self.column_name);
                index.collations.push(self.collation);
            }
        }
    }
}

impl ForeignKeyRow {
    /// Adds a foreign key to its table: to its column, or to the table's list if the key has
    /// several columns.
    fn add_to(self, table: &mut Table) {
        let parent = Parent {
            in_schema: self.parent_schema,
            table: self.parent_table,
            column: self.parent_column,
            on_delete: self.on_delete,
            on_update: self.on_update,
            deferrable: self.deferrability,
            valid: self.is_valid,
        };
        if let Some(name) = self.wide_name {
            table
                .wide_foreign_keys
                .push(WideForeignKey { name, parent });
            return;
        }
        let mut columns = table.columns.iter_mut();
        match columns.find(|column| column.name == self.column_name) {
            Some(column) if column.refers_to.is_some() => column.also_refers_to.push(parent),
            Some(column) => column.refers_to = Some(parent),
            None => {}
        }
    }
}
