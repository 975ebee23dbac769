//! The entity in the `CREATE TABLE` of a counter table.

use super::{Mysql, TELLS_TEXTS_APART};
use crate::database::{Database, Entity, KeyType, Parts};

pub fn of_entity(entity: &Entity) -> Parts {
    let column = &entity.column;
    let is_text = entity.key_type == KeyType::Text;
    let mut parts = Parts::default();
    match &entity.refers_to {
        Some((table, key)) => {
            if is_text {
                parts.heading = format!(
                    "-- {column} has the database's default collation. It must be the collation of \
                     {table}.{key}:\n-- name that here if it is another one.\n"
                );
            }
            // MySQL ignores a REFERENCES of a column.
            parts.foreign_keys = format!(
                ",
    -- Optional. With it, a count locks the row that it refers to in share mode until its transaction
    -- ends. Without it, delete the counters in the transaction that deletes that row.
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
            parts.collation = format!("{TELLS_TEXTS_APART} ");
        }
        None => {}
    }
    parts
}
