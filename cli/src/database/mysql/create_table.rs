//! The parts of a counter table's `CREATE TABLE` on MySQL and MariaDB.

use super::Mysql;
use crate::database::{Database, Entity, KeyType, Parts};

/// The collation of MySQL 8.0.17 and later, and the one of MariaDB. Both have utf8mb4_bin, which
/// takes 'foo ' and 'foo' as equal.
pub const TELLS_TEXTS_APART: &str =
    "CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */";

pub fn parts(entity: Option<&Entity>) -> Parts {
    let mut parts = Parts {
        before_key: "    -- The only unique index, in this order: ON DUPLICATE KEY UPDATE acts on any.\n",
        ..Parts::default()
    };
    let Some(entity) = entity else {
        return parts;
    };
    let column = &entity.column;
    let is_text = entity.key_type == KeyType::Text;
    match &entity.refers_to {
        Some((table, key)) => {
            if is_text {
                parts.heading = format!(
                    "-- {column} has the database's default collation. It must be the collation of \
                     {table}.{key}:\n-- name that here if it is another one.\n"
                );
            }
            // MySQL ignores a REFERENCES of a column.
            parts.after_key = format!(
                ",
    -- Optional. With it, a slot's first count of a day waits for the transaction that has locked the
    -- row that it refers to. Without it, delete the counters in the transaction that deletes that row.
    -- REPLACE INTO {table} can delete counts, by the cascade. Use on_conflict().do_update() instead.
    FOREIGN KEY ({}){}",
                Mysql.quoted(column),
                entity.references(&Mysql),
            );
        }
        None if is_text => {
            parts.heading = "-- The default collation takes 'Foo' and 'foo' as equal, and utf8mb4_bin \
                             'foo ' and 'foo': it would\n-- count them as one. The collation here, one of \
                             MySQL and one of MariaDB, does not.\n-- A column that it is joined to cannot \
                             be utf8mb4_bin.\n"
                .to_owned();
            parts.before_entity = format!("{TELLS_TEXTS_APART} ");
        }
        None => {}
    }
    parts
}
