//! MySQL and MariaDB.

mod catalogue;
mod create_table;
mod remedies;
mod replaces;

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{BigInt, Nullable};

use super::{Change, Costs, Database, Entity, Fault, KeyType, Parts, Replaces, Script, Size};
use crate::catalogue::{Column, Kind, Named, Parent, Shape, Table};
use crate::connection::AnyConnection;
use crate::sql::sql;

pub struct Mysql;

impl Database for Mysql {
    fn option(&self) -> &'static str {
        "mysql"
    }

    fn quoted(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn tables(&self, only: Option<Named<'_>>, conn: &mut AnyConnection) -> Result<Vec<Table>> {
        catalogue::tables(only, conn)
    }

    fn size(&self, table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>> {
        let size = sql(
            "SELECT CAST(data_length + index_length AS SIGNED) FROM information_schema.tables \
             WHERE table_name = ",
        );
        let size = size.bind(&*table.name).sql(" AND table_schema = ");
        let size = size.bind(&*table.in_schema);
        let bytes: Option<i64> = size.typed::<Nullable<BigInt>>().get_result(conn)?;
        let of = "the table and its indexes, as the server estimates it";
        Ok(bytes.map(|bytes| Size { bytes, of }))
    }

    fn as_text(&self, key: &Column) -> String {
        let name = self.quoted(&key.name);
        match key.kind {
            Kind::Binary => format!("lower(hex({name}))"),
            _ => format!("CAST({name} AS CHAR)"),
        }
    }

    fn sum(&self, expression: &str) -> String {
        let sum = format!("COALESCE(SUM({expression}), 0)");
        format!(
            "CASE WHEN {sum} BETWEEN -9223372036854775808 AND 9223372036854775807 \
             THEN CAST({sum} AS SIGNED) END"
        )
    }

    fn costs(&self) -> &'static Costs {
        &remedies::COSTS
    }

    fn faults(&self, shape: &Shape<'_>, _conn: &mut AnyConnection) -> Result<Vec<Fault>> {
        Ok(remedies::no_transactions(shape.table).into_iter().collect())
    }

    fn only_ignores_spaces(&self, collation: &str) -> bool {
        !collation.ends_with("_ci")
    }

    /// Fractions of a second would be rounded, and perhaps to the next day.
    fn as_day(&self, column: &Column) -> Option<String> {
        let name = self.quoted(&column.name);
        (column.sql_type == "datetime").then(|| format!("DATE({name})"))
    }

    fn change(&self, change: &Change<'_>, table: &Table) -> Option<Script> {
        Some(remedies::change(change, table))
    }

    fn replaces(&self, parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Replaces>> {
        replaces::of(parent, conn).map(Some)
    }

    fn key_type(&self, key_type: KeyType) -> &'static str {
        match key_type {
            KeyType::SmallInt => "SMALLINT",
            KeyType::Integer => "INTEGER",
            KeyType::BigInt => "BIGINT",
            KeyType::Text => "VARCHAR(255)",
            KeyType::Binary => "VARBINARY(255)",
            KeyType::Uuid => "BINARY(16)",
        }
    }

    fn create_table(&self, entity: Option<&Entity>) -> Parts {
        create_table::parts(entity)
    }
}
