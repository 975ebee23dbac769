//! What the behaviour tests share: the tables, the models, and an eye on the
//! connection.

pub mod models;
pub mod schema;
pub mod watch;

/// A counter table named with its schema, which is called otherwise on each
/// database.
#[macro_export]
macro_rules! table_in_schema {
    ($schema:ident) => {
        diesel::table! {
            $schema.qualified_counters (entity_id, day, slot) {
                entity_id -> BigInt,
                day -> Date,
                slot -> SmallInt,
                views -> BigInt,
            }
        }
        diesel_counters::counter_table!(qualified_counters);
    };
}
