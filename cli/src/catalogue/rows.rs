//! The rows that each database's catalogue is asked for: one for each column, one for each
//! column of an index, and one for each foreign key.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::connection::AnyConnection;
use crate::sql::sql;
use crate::table::{Column, Index, Kind, Named, Parent, Table};

type Texts = Nullable<Text>;
type Opt = Option<String>;

/// A table, and a column of it. Ordered by table, and by the columns' order in it.
type ColumnRow = (TableRow, OfColumn);
type TableRow = (Opt, String, String, bool, bool, Opt, Opt, Opt);
type OfColumn = (
    (String, String, bool, Opt, bool),
    (bool, Opt, Opt, bool, Opt),
);
type ColumnTypes = (TableTypes, OfColumnTypes);
type TableTypes = (Texts, Text, Text, Bool, Bool, Texts, Texts, Texts);
type OfColumnTypes = ((Text, Text, Bool, Texts, Bool), RestOfColumn);
type RestOfColumn = (Bool, Texts, Texts, Bool, Texts);

/// The schema, the table, an index and a column of it. Ordered by index, and by the columns' order in it.
type IndexRow = (String, String, OfIndex, IndexColumn);
/// The name, and whether it is unique, primary, partial and deferrable.
type OfIndex = (String, bool, bool, bool, bool);
/// The name or the expression, whether it is only included, and whether it is an expression.
type IndexColumn = (String, bool, bool);
type IndexTypes = (Text, Text, OfIndexTypes, (Text, Bool, Bool));
type OfIndexTypes = (Text, Bool, Bool, Bool, Bool);

/// The schema, the table, the first column, the name if there are several, and what it refers to.
type ForeignKeyRow = (String, String, String, Opt, Parent);
type ForeignKeyTypes = (Text, Text, Text, Texts, ParentTypes);
type ParentTypes = (Text, Text, Text, Text, Text, Text);

/// The queries of a database's catalogue. Their columns are those of the rows above, and `{where}`
/// is the condition of the tables to read.
pub struct Catalogue {
    pub columns: &'static str,
    pub indexes: &'static str,
    pub foreign_keys: &'static str,
    /// The schema, the table, and the SQL of a CHECK, or of several.
    pub checks: &'static str,
    /// The condition of all tables but the database's own, of those of a name, and of those of a schema.
    pub all: &'static str,
    pub of_name: &'static str,
    pub of_schema: &'static str,
    /// The kind of an SQL type, as the catalogue writes it.
    pub kind_of: fn(&str) -> Kind,
}

impl Catalogue {
    pub fn tables(&self, name: Option<Named<'_>>, conn: &mut AnyConnection) -> Result<Vec<Table>> {
        let tables = match name {
            Some((Some(_), _)) => self.of_schema,
            Some((None, _)) => self.of_name,
            None => self.all,
        };
        let (schema, name) = name.unwrap_or_default();
        let query = |template: &str| {
            let mut query = sql("");
            for part in template.replace("{where}", tables).split('{') {
                query = match part.split_once('}') {
                    Some(("name", rest)) => query.bind(name).sql(rest),
                    Some((_, rest)) => query.bind(schema.unwrap_or_default()).sql(rest),
                    None => query.sql(part),
                };
            }
            query
        };
        let mut tables: Vec<Table> = Vec::new();
        let columns = query(self.columns).typed::<ColumnTypes>();
        for (of_table, of_column) in columns.load::<ColumnRow>(conn)? {
            let column = self.column(of_column);
            match find(&mut tables, &of_table.1, &of_table.2) {
                Some(table) => table.columns.push(column),
                None => tables.push(self.table(of_table, column)),
            }
        }
        let indexes = query(self.indexes).typed::<IndexTypes>();
        for (in_schema, table, of_index, of_column) in indexes.load::<IndexRow>(conn)? {
            let Some(table) = find(&mut tables, &in_schema, &table) else {
                continue;
            };
            let (name, unique, primary, partial, deferrable) = of_index;
            let (column, is_included, is_expression) = of_column;
            if primary {
                table.primary_key.push(column.clone());
            }
            if table.indexes.last().is_none_or(|last| last.name != name) {
                table.indexes.push(Index {
                    name,
                    unique,
                    primary,
                    partial,
                    deferrable,
                    ..Index::default()
                });
            }
            if let Some(index) = table.indexes.last_mut() {
                index.expression |= is_expression;
                match is_included {
                    true => index.included.push(column),
                    false => index.columns.push(column),
                }
            }
        }
        let foreign_keys = query(self.foreign_keys).typed::<ForeignKeyTypes>();
        for (in_schema, table, column, wide, parent) in foreign_keys.load::<ForeignKeyRow>(conn)? {
            let Some(table) = find(&mut tables, &in_schema, &table) else {
                continue;
            };
            let mut columns = table.columns.iter_mut();
            match (wide, columns.find(|one| one.name == column)) {
                (Some(name), _) => table.wide_foreign_keys.push((name, parent)),
                (None, Some(column)) if column.refers_to.is_some() => {
                    column.also_refers_to.push(parent);
                }
                (None, Some(column)) => column.refers_to = Some(parent),
                (None, None) => {}
            }
        }
        let checks = query(self.checks).typed::<(Text, Text, Text)>();
        for (in_schema, table, check) in checks.load::<(String, String, String)>(conn)? {
            if let Some(table) = find(&mut tables, &in_schema, &table) {
                table.checks.push(check);
            }
        }
        Ok(tables)
    }

    fn table(&self, row: TableRow, column: Column) -> Table {
        let (schema, in_schema, name, strict, partitioned, part_of, inherited_by, unsafe_storage) =
            row;
        Table {
            schema,
            in_schema,
            name,
            columns: vec![column],
            strict,
            partitioned,
            part_of,
            inherited_by,
            unsafe_storage,
            ..Table::default()
        }
    }

    fn column(&self, row: OfColumn) -> Column {
        let ((name, sql_type, nullable, default, auto_increment), rest) = row;
        let (generated, loose_collation, equals_in, not_stored, comment) = rest;
        // PostgreSQL writes `NULL::bigint`.
        let is_null = |default: &str| {
            let value = default.split("::").next().unwrap_or_default();
            value.eq_ignore_ascii_case("NULL")
        };
        Column {
            kind: (self.kind_of)(&sql_type),
            name,
            sql_type,
            nullable,
            default: default.filter(|default| !is_null(default)),
            auto_increment,
            generated,
            loose_collation,
            equals_in,
            not_stored,
            comment,
            refers_to: None,
            also_refers_to: Vec::new(),
        }
    }
}

fn find<'t>(tables: &'t mut [Table], in_schema: &str, name: &str) -> Option<&'t mut Table> {
    let mut tables = tables.iter_mut();
    tables.find(|table| table.in_schema == in_schema && table.name == name)
}
