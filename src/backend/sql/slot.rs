//! The slot of a connection, and the number that it claims.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::AstPass;

use crate::backend::{Bind, CounterBackend, Dialect};
use crate::slot::{Partition, SlotRange};

impl Dialect {
    /// Returns an SQL expression for the slot of the current connection, from 1 to `slots`. It is
    /// 0 on SQLite.
    ///
    /// It is the slot of [`Slot::Connection`](crate::Slot::Connection), for the SQL of triggers.
    /// On PostgreSQL the expression claims a number for the connection, if the connection has none.
    /// It does not know the partition of a database: the triggers of `diesel-counters generate trigger`
    /// do.
    ///
    /// ```
    /// use diesel_counters::Dialect;
    ///
    /// assert_eq!(
    ///     Dialect::MySql.connection_slot(32),
    ///     "1 + IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', @diesel_counters_number, CONNECTION_ID()) % 32"
    /// );
    /// assert_eq!(Dialect::MySql.connection_slot(1), "1");
    /// ```
    pub fn connection_slot(self, slots: u16) -> String {
        match self {
            Dialect::Sqlite => "0".to_owned(),
            _ if slots <= 1 => "1".to_owned(),
            Dialect::PostgreSql => format!(
                "1 + COALESCE({POSTGRES_NUMBER}, {POSTGRES_CLAIM}, pg_backend_pid()) % {slots}"
            ),
            Dialect::MySql => {
                format!("1 + {MYSQL_NUMBER_OR_ID} % {slots}")
            }
        }
    }

    /// Returns PL/pgSQL statements for PostgreSQL that set the variable `counting_slot` to the slot of the
    /// current connection in the partition of its database or role. They claim a number for the
    /// connection, if it has none.
    #[doc(hidden)]
    pub fn slot_block(slots: u16) -> String {
        let (number, own, of_node) = match slots {
            0 | 1 => (String::new(), "1".to_owned(), String::new()),
            _ => (
                format!(
                    "counting_number := COALESCE({POSTGRES_NUMBER}, {POSTGRES_CLAIM}, pg_backend_pid());\n"
                ),
                format!("1 + counting_number % {slots}"),
                format!(
                    "\n        + counting_parts * (counting_number \
                     % greatest(({slots} - 1 - counting_index) / counting_parts + 1, 1))"
                ),
            ),
        };
        format!(
            "{number}IF COALESCE(current_setting('{PARTITION}', true), '') = '' THEN\n    \
             counting_slot := {own};\n\
             ELSE\n    \
             counting_node := current_setting('{PARTITION}');\n    \
             counting_index := split_part(counting_node, '/', 1);\n    \
             counting_parts := split_part(counting_node, '/', 2);\n    \
             IF (counting_index BETWEEN 0 AND counting_parts - 1 AND counting_parts < 32768) IS NOT TRUE THEN\n        \
             RAISE '{PARTITION} is %: write 1/3 for the second of three partitions', counting_node;\n    \
             END IF;\n    \
             counting_slot := 1 + counting_index{of_node};\n\
             END IF;"
        )
    }

    /// Returns an SQL expression for the slot of merged rows: on PostgreSQL, that of the partition of
    /// the database or role.
    #[doc(hidden)]
    pub fn merged_slot(self) -> String {
        match self {
            Dialect::PostgreSql => format!(
                "-CAST(split_part(COALESCE(NULLIF(current_setting('{PARTITION}', true), ''), '0'), '/', 1) AS SMALLINT)"
            ),
            Dialect::MySql | Dialect::Sqlite => "0".to_owned(),
        }
    }

    /// Writes the slot of a row: one of `slots`, chosen by the number of the connection. The first
    /// row of a statement claims the number, if the connection has none. On PostgreSQL, it is an error
    /// there if the database has another partition.
    pub(crate) fn push_slot<'b, DB>(
        self,
        slots: &'b SlotRange,
        is_first_row: bool,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: CounterBackend,
    {
        match self {
            Dialect::PostgreSql => {
                DB::push_bind(Bind::FirstSlot(&slots.first), out)?;
                out.push_sql(" + ");
                DB::push_bind(Bind::Slot(&slots.partition.of), out)?;
                out.push_sql(" * (");
                match is_first_row {
                    true => push_in_own_partition(&slots.partition, out, |out| {
                        // With one slot to choose from, the session does not need a number.
                        out.push_sql("CASE WHEN ");
                        DB::push_bind(Bind::Slot(&slots.count), out)?;
                        out.push_sql(" > 1 THEN COALESCE(");
                        out.push_sql(POSTGRES_NUMBER);
                        out.push_sql(", ");
                        out.push_sql(POSTGRES_CLAIM);
                        out.push_sql(", pg_backend_pid()) ELSE 0 END");
                        Ok(())
                    })?,
                    false => {
                        out.push_sql("COALESCE(");
                        out.push_sql(POSTGRES_NUMBER);
                        out.push_sql(", pg_backend_pid())");
                    }
                }
                out.push_sql(" % ");
                DB::push_bind(Bind::Slot(&slots.count), out)?;
                out.push_sql(")");
            }
            Dialect::MySql => {
                DB::push_bind(Bind::FirstSlot(&slots.first), out)?;
                // CONNECTION_ID() is unsigned, and the slot can be negative.
                out.push_sql(" + CAST(");
                out.push_sql(MYSQL_NUMBER_OR_ID);
                out.push_sql(" % ");
                DB::push_bind(Bind::Slot(&slots.count), out)?;
                out.push_sql(" AS SIGNED) * ");
                DB::push_bind(Bind::Slot(&slots.partition.of), out)?;
            }
            // SQLite has one writer at a time: more slots would gain nothing.
            Dialect::Sqlite => out.push_sql("0"),
        }
        Ok(())
    }

    /// Writes the slot of the merged rows of a partition. On PostgreSQL, it is an error if the database has
    /// another one.
    pub(crate) fn push_merged_slot<'b, DB: CounterBackend>(
        self,
        partition: &'b Partition,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        let push =
            |out: &mut AstPass<'_, 'b, DB>| DB::push_bind(Bind::Slot(partition.merged()), out);
        match self {
            Dialect::PostgreSql => push_in_own_partition(partition, out, push),
            Dialect::MySql | Dialect::Sqlite => push(out),
        }
    }

    /// Writes a statement that claims a number for the session, unless it has one.
    pub(crate) fn push_claim<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        match self {
            Dialect::PostgreSql => {
                out.push_sql("SELECT COALESCE(");
                out.push_sql(POSTGRES_NUMBER);
                out.push_sql(", ");
                out.push_sql(POSTGRES_CLAIM);
            }
            Dialect::MySql => {
                out.push_sql("SET ");
                out.push_sql(MYSQL_NUMBER);
                out.push_sql(" = COALESCE(");
                out.push_sql(MYSQL_NUMBER);
                out.push_sql(", ");
                out.push_sql(MYSQL_CLAIM);
            }
            Dialect::Sqlite => out.push_sql("SELECT (1"),
        }
        out.push_sql(")");
    }
}

/// Writes an expression for PostgreSQL. It is an error if the database or role has another partition than
/// the statement, and otherwise the value that `push_value` writes.
fn push_in_own_partition<'b, DB: CounterBackend>(
    partition: &'b Partition,
    out: &mut AstPass<'_, 'b, DB>,
    push_value: impl FnOnce(&mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
) -> QueryResult<()> {
    out.push_sql(POSTGRES_OTHER_PARTITION);
    DB::push_bind(Bind::Slot(&partition.index), out)?;
    out.push_sql(", ");
    DB::push_bind(Bind::Slot(&partition.of), out)?;
    out.push_sql(POSTGRES_PARTITION_ERROR);
    push_value(out)?;
    out.push_sql(" END");
    Ok(())
}

/// The setting of a PostgreSQL database or role: `1/3` is the second of three partitions.
const PARTITION: &str = "diesel_counters.partition";

/// The beginning of a comparison of the setting with a partition. Numbers are compared, because triggers
/// read `01/3` too.
const POSTGRES_OTHER_PARTITION: &str = "\
    CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) \
    AS INTEGER), \
    CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) \
    AS INTEGER)) <> (";

const POSTGRES_PARTITION_ERROR: &str = "\
    ) THEN CAST('the partition of this statement is not that of the database, \
    diesel_counters.partition = ' || current_setting('diesel_counters.partition') || \
    ': call set_default_slot at the start of main' AS INTEGER) ELSE ";

/// The number that the session has claimed, or NULL. If the transaction that set it for the first
/// time was rolled back, the setting is an empty text. Whoever has used the session before, through a
/// pooler, can have set it to anything: what is no number is claimed again.
const POSTGRES_NUMBER: &str = "\
    CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER)";

/// Claims the least number that no other session has. The session holds an advisory lock on the
/// number until the session ends, even if the setting is rolled back. `generate_series` is in a
/// `SELECT`, because in a `FROM` it would make all its rows first.
const POSTGRES_CLAIM: &str = "\
    (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) \
    FROM (SELECT generate_series(0, 32766) AS number) AS numbers \
    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)";

const MYSQL_NUMBER: &str = "@diesel_counters_number";

/// The number of the session, or its id. The session can have set the variable to anything.
const MYSQL_NUMBER_OR_ID: &str = "IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', \
    @diesel_counters_number, CONNECTION_ID())";

/// Claims the least number that no other session of the database has. It is a recursion, because
/// a `WHERE` could lock all numbers before a `LIMIT` ends the query. MySQL and MariaDB end a
/// recursion after 1,000 steps by default. The names of the locks are made as in `push_session_lock`.
const MYSQL_CLAIM: &str = "\
    (WITH RECURSIVE diesel_counters_numbers (number, claimed) AS (\
    SELECT 0, GET_LOCK(CONVERT(SHA2(CONVERT(CONCAT_WS(\
    '/', 'diesel_counters.number', DATABASE(), 0) USING utf8mb4), 224) USING utf8mb4), 0) \
    UNION ALL \
    SELECT number + 1, GET_LOCK(CONVERT(SHA2(CONVERT(CONCAT_WS(\
    '/', 'diesel_counters.number', DATABASE(), number + 1) USING utf8mb4), 224) USING utf8mb4), 0) \
    FROM diesel_counters_numbers WHERE claimed = 0 AND number < 998) \
    SELECT number FROM diesel_counters_numbers WHERE claimed = 1)";
