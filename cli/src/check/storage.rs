//! How the rows are stored.

use diesel_counters::Dialect;

use super::fault::Fault;
use super::shape::Shape;

pub fn fault(shape: &Shape<'_>) -> Option<Fault> {
    let (table, stored) = (shape.table_sql(), shape.table.unsafe_storage.as_ref()?);
    Some(match shape.dialect {
        Dialect::PostgreSql => Fault::wrong(
            "unlogged",
            format!("It is {stored}."),
            "A crash of the server empties it.",
        )
        .remedy("Log it. The whole table is rewritten, and nobody reads or writes it meanwhile.")
        .sql(format!("ALTER TABLE {table} SET LOGGED;")),
        Dialect::MySql | Dialect::Sqlite => Fault::wrong(
            "no_transactions",
            format!("Its engine is {stored}, which has no transactions."),
            "Counts do not roll back with the rest of a transaction.",
        )
        .remedy("Move it to InnoDB. The whole table is copied, and nobody writes it meanwhile.")
        .sql(format!("ALTER TABLE {table} ENGINE = InnoDB;")),
    })
}
