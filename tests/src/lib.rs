//! What the behaviour tests share: the tables, the models, and an eye on the
//! connection.

pub mod models;
pub mod schema;
pub mod watch;

/// Tables that are named with their schema, which is called otherwise on each database.
#[macro_export]
macro_rules! tables_in_schema {
    ($schema:ident) => {
        pub mod qualified {
            diesel::table! {
                $schema.models (id) { id -> BigInt, stored_0 -> BigInt }
            }
            diesel::table! {
                $schema.source (id) { id -> BigInt, entity -> BigInt }
            }
            diesel::table! {
                $schema.counters (entity, day, slot) {
                    entity -> BigInt,
                    day -> Date,
                    slot -> SmallInt,
                    total -> BigInt,
                    wanted_0 -> BigInt,
                    stored_0 -> BigInt,
                    actual_0 -> BigInt,
                }
            }
        }
    };
}
