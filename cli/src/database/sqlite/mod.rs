//! SQLite.

mod catalogue;
mod rebuild;
mod remedies;

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{BigInt, Nullable};

use super::{Change, Costs, Database, Entity, Fault, KeyType, Parts, Rebuild};
use super::{Replaces, Script, Size};
use crate::catalogue::{Column, Kind, Named, Parent, Shape, Table};
use crate::connection::AnyConnection;
use crate::sql::sql;

pub struct Sqlite;

impl Database for Sqlite {
    fn option(&self) -> &'static str {
        "sqlite"
    }

    fn tables(&self, only: Option<Named<'_>>, conn: &mut AnyConnection) -> Result<Vec<Table>> {
        catalogue::tables(only, conn)
    }

    fn size(&self, table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>> {
        // Not every SQLite is built with `dbstat`.
        let of_table = sql("SELECT sum(pgsize) FROM dbstat \
             WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = ");
        let of_table = of_table.bind(&*table.name).sql(")");
        let of_table = of_table.typed::<Nullable<BigInt>>().get_result(conn);
        if let Ok(Some(bytes)) = of_table {
            let of = "the table and its indexes";
            return Ok(Some(Size { bytes, of }));
        }
        let of_file = sql("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
        Ok(Some(Size {
            bytes: of_file.typed::<BigInt>().get_result(conn)?,
            of: "the whole file",
        }))
    }

    /// All integers have 64 bits, and a UUID is bytes.
    fn stored_as(&self, kind: Kind) -> Kind {
        match kind {
            Kind::SmallInt | Kind::Integer => Kind::BigInt,
            Kind::Uuid => Kind::Binary,
            kind => kind,
        }
    }

    fn as_text(&self, key: &Column) -> String {
        let name = self.quoted(&key.name);
        match self.stored_as(key.kind) {
            Kind::Binary => format!("lower(hex({name}))"),
            _ => format!("CAST({name} AS TEXT)"),
        }
    }

    fn sum(&self, expression: &str) -> String {
        let sum = format!("COALESCE(SUM({expression}), 0)");
        // `abs` of the least integer fails with an "integer overflow".
        format!(
            "CASE typeof({sum}) WHEN 'integer' THEN {sum} ELSE abs(-9223372036854775807 - 1) END"
        )
    }

    fn costs(&self) -> &'static Costs {
        &remedies::COSTS
    }

    fn faults(&self, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
        match shape.table.strict {
            true => Ok(Vec::new()),
            false => remedies::not_strict(shape, conn),
        }
    }

    fn as_day(&self, column: &Column) -> Option<String> {
        Some(format!("date({})", self.quoted(&column.name)))
    }

    fn change(&self, change: &Change<'_>, _table: &Table) -> Option<Script> {
        match change {
            Change::DropIndex(index) if !index.of_constraint => {
                let sql = format!("DROP INDEX {};", self.quoted(&index.name));
                Some(Script::new(sql, ""))
            }
            _ => None,
        }
    }

    fn rebuild(&self, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Rebuild>> {
        rebuild::of(shape, conn).map(Some)
    }

    fn replaces(&self, parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Replaces>> {
        remedies::replaces(parent, conn).map(Some)
    }

    fn key_type(&self, key_type: KeyType) -> &'static str {
        match key_type {
            KeyType::SmallInt => "SMALLINT",
            KeyType::Integer => "INTEGER",
            KeyType::BigInt => "BIGINT",
            KeyType::Text => "TEXT",
            KeyType::Binary | KeyType::Uuid => "BLOB",
        }
    }

    fn create_table(&self, entity: Option<&Entity>) -> Parts {
        let parent = entity.and_then(|entity| entity.refers_to.as_ref());
        let heading = parent.map(|(table, _)| {
            format!(
                "-- The cascade takes effect on connections with PRAGMA foreign_keys = ON.\n\
                 -- On these, REPLACE INTO {table} deletes counts. Use on_conflict().do_update() instead.\n"
            )
        });
        Parts {
            heading: heading.unwrap_or_default(),
            of_entity: entity.map_or(String::new(), |entity| entity.references(self)),
            before_counters: "    -- The checks keep other programs from storing anything but integers. SQLite would \
                 accept them, and\n    -- its own arithmetic turns into floating point when it overflows.\n",
            check: Some(|name| format!(" CHECK (typeof({name}) = 'integer')")),
            ..Parts::default()
        }
    }
}
