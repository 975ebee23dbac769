//! A table of PostgreSQL that several nodes write, by logical replication.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;
use diesel_counters::Dialect;

use super::fault::{Fault, faults};
use crate::catalogue::Shape;
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::partition;
use crate::sql::sql;

faults! {
    NO_NODE = Wrong, "no_node":
        "Nodes that write the same row overwrite each other, or stop the replication.";
    CASCADES = Wrong, "cascade_on_nodes":
        "A cascade on one node deletes rows that another node writes: then the nodes can differ.";
}

/// Whether the table is published, and another node's is subscribed to.
const REPLICATED: &str = "
    SELECT EXISTS (SELECT FROM pg_publication_tables p JOIN pg_namespace n ON n.nspname = p.schemaname
                   JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
                   WHERE c.oid = of_table.oid)
        AND EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = of_table.oid)
    FROM (SELECT to_regclass(";

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.dialect() != Dialect::PostgreSql {
        return Ok(Vec::new());
    }
    let table = POSTGRES.table_name(shape.table);
    let replicated = sql(REPLICATED).bind(&*table).sql(") AS oid) AS of_table");
    if !replicated.typed::<Bool>().get_result::<bool>(conn)? {
        return Ok(Vec::new());
    }
    let mut faults = Vec::new();
    if partition::of_database(conn)?.is_none() {
        let fault =
            NO_NODE.found("It is published and subscribed to, and the database has no partition.");
        faults.push(fault.remedy(
            "Give each node another one: ALTER DATABASE … SET diesel_counters.partition = '0/2'. \
             Set it in programs too, with set_default_slot.",
        ));
    }
    let parents = shape.entity.iter().filter_map(|key| key.refers_to.as_ref());
    if let Some(parent) = parents.into_iter().find(|parent| parent.cascades()) {
        let fault = CASCADES.found(format!("Deleting from {} deletes its rows.", parent.table));
        faults.push(fault.remedy("Drop the foreign key, and call delete_counters on each node."));
    }
    Ok(faults)
}
