//! SQLite.

mod catalogue;
mod locks;
mod rebuild;
mod remedies;

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{BigInt, Nullable};

use super::{Change, Database, Entity, Facts, Fault, Parts, Rebuild, Replaces, Script, Size};
use crate::catalogue::{Kind, Parent, Shape, Table};
use crate::connection::AnyConnection;
use crate::sql::sql;

pub struct Sqlite;

const FACTS: Facts = Facts {
    option: "sqlite",
    catalogue: catalogue::CATALOGUE,
    text: "CAST({} AS TEXT)",
    hex: "lower(hex({}))",
    wide_foreign_keys: "SELECT name FROM (SELECT 'to ' || k.\"table\" AS name,
            'main' AS of_schema, m.name AS of_table
            FROM sqlite_schema m, pragma_foreign_key_list(m.name) k WHERE k.seq > 0) WHERE of_schema = ",
    days: &[],
    // `abs` of the least integer fails with an "integer overflow".
    key_types: ["SMALLINT", "INTEGER", "BIGINT", "TEXT", "BLOB", "BLOB"],
    check: " CHECK (typeof({}) = 'integer')",
    above_counters: "    -- The checks keep other programs from storing anything but integers. SQLite \
                     would accept them, and\n    -- its own arithmetic turns into floating point when \
                     it overflows.\n",
    above_key: "",
    no_unique_key: "Each increment fails: its ON CONFLICT needs a unique key.",
    auto_increment_key: None,
    unique_index: "An increment fails if only this index has such a row already.",
    counter_index: "Each increment of that counter writes it too.",
    look: locks::look,
    version: "'SQLite ' || sqlite_version()",
    no_deadlock: None,
    table_locks: "SQLite does not tell which one",
    end_session: "",
    claim_slots: "",
};

impl Database for Sqlite {
    fn facts(&self) -> &'static Facts {
        &FACTS
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

    fn faults(&self, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
        match shape.table.strict {
            true => Ok(Vec::new()),
            false => remedies::not_strict(shape, conn),
        }
    }

    fn change(&self, change: &Change<'_>, _table: &Table) -> Option<Script> {
        match change {
            Change::DropIndex(index) if !index.of_constraint => {
                let sql = format!("DROP INDEX {};", self.quoted(&index.name));
                Some(Script { sql, locks: "" })
            }
            _ => None,
        }
    }

    fn rebuild(&self, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Rebuild> {
        rebuild::of(shape, conn)
    }

    fn replaces(&self, parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Replaces>> {
        remedies::replaces(parent, conn).map(Some)
    }

    fn of_entity(&self, entity: &Entity) -> Parts {
        let heading = entity.refers_to.as_ref().map(|(table, _)| {
            format!(
                "-- The cascade takes effect on connections with PRAGMA foreign_keys = ON.\n-- On these, \
                 REPLACE INTO {table} deletes counts. Use on_conflict().do_update() instead.\n"
            )
        });
        Parts {
            heading: heading.unwrap_or_default(),
            references: entity.references(self),
            ..Parts::default()
        }
    }
}
