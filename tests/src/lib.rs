//! What the tests and the laboratory share: the tables, the models, the library's
//! [`operations`], and an eye on the connection.

pub mod answer;
pub mod examples;
pub mod map;
pub mod models;
pub mod operations;
pub mod schema;
pub mod tables;
pub mod values;
pub mod watch;

use diesel::connection::Connection;
use diesel::result::Error;

/// A transaction that writes, on a server. SQLite's begins in another way.
pub fn write_transaction<C: Connection, T, E: From<Error>>(
    conn: &mut C,
    f: impl FnOnce(&mut C) -> Result<T, E>,
) -> Result<T, E> {
    conn.transaction(f)
}

/// A model, the rows that are counted, and the counters, all of the same columns.
#[macro_export]
macro_rules! counted_tables {
    ([$($schema:tt)*] $models:ident, $source:ident, $counters:ident) => {
        diesel::table! {
            $($schema)* $models (id) { id -> BigInt, stored_0 -> BigInt }
        }
        diesel::table! {
            $($schema)* $source (id) { id -> BigInt, entity -> BigInt }
        }
        diesel::table! {
            $($schema)* $counters (entity, day, slot) {
                entity -> BigInt,
                day -> Date,
                slot -> SmallInt,
                total -> BigInt,
                wanted_0 -> BigInt,
                stored_0 -> BigInt,
                actual_0 -> BigInt,
            }
        }
    };
}

/// Tables that are named with their schema, which is called otherwise on each database.
#[macro_export]
macro_rules! tables_in_schema {
    ($schema:ident) => {
        pub mod qualified {
            $crate::counted_tables!([$schema.] models, source, counters);
        }
    };
}
