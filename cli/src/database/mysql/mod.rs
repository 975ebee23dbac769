//! MySQL and MariaDB.

mod catalogue;
mod create_table;
mod deadlock;
mod lock_data;
mod locks;
mod remedies;
mod replaces;

use std::time::Duration;

use anyhow::Result;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{OptionalExtension, QueryResult, RunQueryDsl};

use super::{Change, Database, Entity, Facts, Fault, Parts, Replaces, Script, Size};
use crate::catalogue::{Column, Index, Parent, Shape, Table};
use crate::connection::AnyConnection;
use crate::doctor::looks::Looks;
use crate::doctor::report::Deadlock;
use crate::sql::{Sql, sql};

pub struct Mysql;

const FACTS: Facts = Facts {
    option: "mysql",
    catalogue: catalogue::CATALOGUE,
    text: "CAST({} AS CHAR)",
    hex: "lower(hex({}))",
    wide_foreign_keys: "SELECT name FROM (SELECT constraint_name AS name,
            table_schema AS of_schema, table_name AS of_table
            FROM information_schema.key_column_usage
            WHERE referenced_table_name IS NOT NULL AND ordinal_position > 1) AS all_keys WHERE of_schema = ",
    // Fractions of a second, as in `datetime(6)`, would be rounded, and perhaps to the next day.
    days: &[("datetime", "DATE({})")],
    #[rustfmt::skip]
    key_types: ["SMALLINT", "INTEGER", "BIGINT", "VARCHAR(255)", "VARBINARY(255)", "BINARY(16)"],
    check: "",
    above_counters: "",
    above_key: "    -- The only unique index, in this order: ON DUPLICATE KEY UPDATE acts on any.\n",
    no_unique_key: "Each increment adds a row of its own, and never adds to an existing one.",
    auto_increment_key: Some(
        "Each increment takes a number from it and locks in two indexes: measured on MySQL with \
         16 writers, that was slower than one row without slots.",
    ),
    unique_index: "ON DUPLICATE KEY UPDATE acts on any unique index: an increment can be added to \
                   another entity's, day's or slot's row.",
    counter_index: "Each increment of that counter writes it too.",
    look: locks::look,
    version: "CONCAT(IF(VERSION() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), \
              SUBSTRING_INDEX(VERSION(), '-', 1))",
    no_deadlock: Some("none of this table is known; the server keeps only its last one"),
    table_locks: "performance_schema.metadata_locks shows which one",
    end_session: "KILL {}",
    claim_slots: " Run claim_slot() on each new connection, as ClaimSlots does in a pool.",
};

impl Database for Mysql {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn last_deadlock(&self, looks: &mut Looks<'_>) -> Result<Option<Deadlock>> {
        deadlock::last_deadlock(looks)
    }

    fn limit_statements(&self, time: Duration, conn: &mut AnyConnection) -> QueryResult<()> {
        locks::limit_statements(time, conn)
    }

    fn quoted(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
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

    fn joined(&self, texts: &[String]) -> String {
        format!("CONCAT({})", texts.join(", ', ', "))
    }

    /// MySQL compares a number with the number that a text begins with, or with 0.
    fn is_text(&self, key: &Column, text: &str) -> Sql {
        let equals = sql(format!("{} = ", self.quoted(&key.name))).bind(text);
        let is_printed = format!(" AND {} = ", self.as_text(key));
        equals.sql(is_printed).bind(text)
    }

    fn faults(&self, shape: &Shape<'_>, _conn: &mut AnyConnection) -> Result<Vec<Fault>> {
        Ok(remedies::no_transactions(shape.table).into_iter().collect())
    }

    fn only_ignores_spaces(&self, collation: &str) -> bool {
        !collation.ends_with("_ci")
    }

    fn change(&self, change: &Change<'_>, table: &Table) -> Option<Script> {
        Some(remedies::change(change, table))
    }

    fn replaces(&self, parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Replaces>> {
        replaces::of(parent, conn).map(Some)
    }

    fn drop_in_alter(&self, index: &Index) -> Option<String> {
        Some(match index.primary {
            true => "DROP PRIMARY KEY".to_owned(),
            false => format!("DROP INDEX {}", self.quoted(&index.name)),
        })
    }

    /// CHAR drops the spaces at the end, whatever its collation.
    fn exact_type(&self, column: &Column) -> String {
        let sql_type = match column.sql_type.strip_prefix("char") {
            Some(width) => format!("varchar{width}"),
            None => column.sql_type.clone(),
        };
        format!("{sql_type} {TELLS_TEXTS_APART}")
    }

    fn of_entity(&self, entity: &Entity) -> Parts {
        create_table::of_entity(entity)
    }

    fn uncounted_foreign_key(
        &self,
        rows: &Table,
        conn: &mut AnyConnection,
    ) -> Result<Option<String>> {
        let query = sql(crate::trigger::FOREIGN_KEYS).bind(&*rows.in_schema);
        let query = query
            .sql(" AND r.table_name = ")
            .bind(&*rows.name)
            .sql(" LIMIT 1");
        Ok(query.typed::<Text>().get_result(conn).optional()?)
    }

    /// A backslash begins an escape.
    fn literal(&self, text: &str) -> String {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    }
}

/// The collation of MySQL 8.0.17 and later, and the one of MariaDB. Both have utf8mb4_bin, which
/// takes 'foo ' and 'foo' as equal.
const TELLS_TEXTS_APART: &str =
    "CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */";
