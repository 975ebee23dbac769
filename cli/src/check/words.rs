//! What a fault costs, where that differs by database.

use diesel_counters::Dialect;

pub struct Words {
    /// The cost of a table in which nothing makes the key unique.
    pub no_unique_key: &'static str,
    /// The cost of an auto-increment primary key beside the unique one, if that is a fault.
    pub auto_increment_key: Option<&'static str>,
    /// The cost of another unique index.
    pub unique_index: &'static str,
    /// The cost of an index on a counter.
    pub counter_index: &'static str,
    /// The clause to use instead of `REPLACE INTO`, if the database has that.
    pub instead_of_replace: Option<&'static str>,
}

pub fn of(dialect: Dialect) -> Words {
    match dialect {
        Dialect::PostgreSql => Words {
            no_unique_key: "Each increment fails: its ON CONFLICT needs a unique key.",
            auto_increment_key: None,
            unique_index: "An increment fails if only this index has such a row already.",
            counter_index: "Each increment of that counter writes this index and all others: it cannot be \
                    a heap-only update.",
            instead_of_replace: None,
        },
        Dialect::MySql => Words {
            no_unique_key: "Each increment adds a row of its own, and never adds to an existing one.",
            auto_increment_key: Some(
                "Each increment takes a number from it and locks in two indexes: measured on MySQL with \
         16 writers, that was slower than one row without slots.",
            ),
            unique_index: "ON DUPLICATE KEY UPDATE acts on any unique index: an increment can be added to \
                   another entity's, day's or slot's row.",
            counter_index: "Each increment of that counter writes it too.",
            instead_of_replace: Some("ON DUPLICATE KEY UPDATE"),
        },
        Dialect::Sqlite => Words {
            no_unique_key: "Each increment fails: its ON CONFLICT needs a unique key.",
            auto_increment_key: None,
            unique_index: "An increment fails if only this index has such a row already.",
            counter_index: "Each increment of that counter writes it too.",
            instead_of_replace: Some("ON CONFLICT DO UPDATE"),
        },
    }
}
