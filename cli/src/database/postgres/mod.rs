//! PostgreSQL.

mod catalogue;
mod locks;
mod partitions;
mod remedies;

use std::time::Duration;

use anyhow::Result;
use diesel::sql_types::{BigInt, Nullable};
use diesel::{QueryResult, RunQueryDsl};

use super::{Change, Database, Facts, Fault, Script, Size};
use crate::catalogue::{Column, Index, Shape, Table};
use crate::connection::AnyConnection;
use crate::sql::{Sql, sql};

pub struct Postgres;

const FACTS: Facts = Facts {
    option: "postgres",
    catalogue: catalogue::CATALOGUE,
    text: "CAST({} AS TEXT)",
    hex: "encode({}, 'hex')",
    wide_foreign_keys: "SELECT name FROM (SELECT conname::text AS name, n.nspname AS of_schema,
            r.relname AS of_table FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
            JOIN pg_namespace n ON n.oid = r.relnamespace
            WHERE contype = 'f' AND cardinality(conkey) > 1) AS keys WHERE of_schema = ",
    days: &[
        ("timestamp without time zone", "{}::DATE"),
        ("timestamp with time zone", "({} AT TIME ZONE 'UTC')::DATE"),
    ],
    key_types: ["SMALLINT", "INTEGER", "BIGINT", "TEXT", "BYTEA", "UUID"],
    check: "",
    above_counters: "",
    above_key: "    -- The only index, in this order. An index on a counter would make each increment \
                write it too,\n    -- and end PostgreSQL's heap-only updates.\n",
    no_unique_key: "Each increment fails: its ON CONFLICT needs a unique key.",
    auto_increment_key: None,
    unique_index: "An increment fails if only this index has such a row already.",
    counter_index: "Each increment of that counter writes this index and all others: it cannot be \
                    a heap-only update.",
    look: locks::look,
    version: "'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)",
    no_deadlock: Some(
        "PostgreSQL writes deadlocks to the server's log: search it for \"deadlock detected\"",
    ),
    table_locks: "pg_locks shows which one",
    end_session: "SELECT pg_terminate_backend({})",
    claim_slots: "",
};

impl Database for Postgres {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn limit_statements(&self, time: Duration, conn: &mut AnyConnection) -> QueryResult<()> {
        locks::limit_statements(time, conn)
    }

    fn size(&self, table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>> {
        // A partitioned table has no rows of its own, and any other table has no tree.
        let size = sql(
            "SELECT COALESCE(CAST(sum(pg_total_relation_size(tree.relid)) AS BIGINT), \
             pg_total_relation_size(CAST(max(CAST(named.oid AS oid)) AS regclass))) \
             FROM (SELECT to_regclass(",
        );
        let size = size
            .bind(&*self.table_name(table))
            .sql(") AS oid) AS named LEFT JOIN pg_partition_tree(named.oid) AS tree ON true");
        let bytes: Option<i64> = size.typed::<Nullable<BigInt>>().get_result(conn)?;
        let of = "the table and its indexes";
        Ok(bytes.map(|bytes| Size { bytes, of }))
    }

    /// PostgreSQL compares a bound text with nothing but a text.
    fn is_text(&self, key: &Column, text: &str) -> Sql {
        let cast = sql(format!("{} = CAST(", self.quoted(&key.name))).bind(text);
        cast.sql(format!(" AS {})", of_any_length(&key.sql_type)))
    }

    fn faults(&self, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
        let mut faults: Vec<_> = remedies::unlogged(shape.table).into_iter().collect();
        faults.extend(partitions::no_partition(shape, conn)?);
        faults.extend(remedies::fixed_width(shape));
        Ok(faults)
    }

    fn change(&self, change: &Change<'_>, table: &Table) -> Option<Script> {
        Some(remedies::change(change, table))
    }

    fn drop_in_alter(&self, index: &Index) -> Option<String> {
        let name = self.quoted(&index.name);
        let is_of_constraint = index.of_constraint;
        is_of_constraint.then(|| format!("DROP CONSTRAINT {name}"))
    }

    fn exact_type(&self, column: &Column) -> String {
        format!("{} COLLATE \"C\"", column.sql_type)
    }
}

/// The type without its length or precision. A cast to a type with one cuts a text off, or rounds a
/// number, to what may be another key.
fn of_any_length(sql_type: &str) -> String {
    match sql_type.split_once('(') {
        Some(("character", _)) => "bpchar".to_owned(),
        Some(("bit", _)) => "varbit".to_owned(),
        Some((name, rest)) if !name.contains('"') => {
            let (_length, rest) = rest.split_once(')').unwrap_or_default();
            format!("{name}{rest}")
        }
        _ => sql_type.to_owned(),
    }
}
