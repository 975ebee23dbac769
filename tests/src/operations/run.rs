//! How an operation runs on a connection of each type, on each table.

use diesel::QueryResult;

use crate::map::Returned;
use crate::tables::Table;

/// An operation that runs on a type of connection.
pub trait Run<Conn> {
    fn run(&self, on: Table, conn: &mut Conn) -> QueryResult<Returned>;
}

/// Runs the body on a table. It can use what its module in [`tables`](crate::tables) has: the counters
/// `views` and `comments`, the `Model`, its `Key`, and `rows` that are recounted.
macro_rules! on_table {
    ($on:expr, $body:expr) => {
        match $on {
            Table::Articles(Period::Week) => on_table!(articles weekly $body),
            Table::Articles(Period::Month) => on_table!(articles monthly $body),
            Table::Articles(Period::Total) => on_table!(articles timeless $body),
            Table::Articles(_) => on_table!(articles daily $body),
            Table::Labels(_) => on_table!(labels daily $body),
            Table::Pages(Period::Week) => on_table!(pages weekly $body),
            Table::Pages(Period::Month) => on_table!(pages monthly $body),
            Table::Pages(Period::Total) => on_table!(pages timeless $body),
            Table::Pages(_) => on_table!(pages daily $body),
            Table::Tickets => unreachable!("tickets have no such counters"),
        }
    };
    ($keys:ident $period:ident $body:expr) => {{
        #[allow(unused_imports)]
        use crate::tables::$keys::{$period::*, *};
        $body
    }};
}

/// Runs the body on tickets. Their counter is `remaining`.
macro_rules! on_tickets {
    ($on:expr, $body:expr) => {{
        #[allow(unused_imports)]
        use crate::tables::tickets::*;
        $body
    }};
}

/// Runs the body on a table or on tickets: it only uses the table `counters`, and `key`.
macro_rules! on_any_table {
    ($on:expr, $body:expr) => {
        match $on {
            Table::Tickets => on_tickets!($on, $body),
            on => on_table!(on, $body),
        }
    };
}

/// Implements [`Run`] for each type of connection: the operation, one of the three macros above, and
/// the body.
macro_rules! run {
    ($Operation:ident, $on_table:ident, |$self:ident, $conn:ident| $body:expr) => {
        run!($Operation, $on_table, |$self, $conn: diesel::SqliteConnection| $body);
        #[cfg(feature = "postgres")]
        run!($Operation, $on_table, |$self, $conn: diesel::PgConnection| $body);
        #[cfg(feature = "mysql")]
        run!($Operation, $on_table, |$self, $conn: diesel::MysqlConnection| $body);
    };
    ($Operation:ident, $on_table:ident, |$self:ident, $conn:ident: $Conn:ty| $body:expr) => {
        impl $crate::operations::Run<$Conn> for $Operation {
            #[allow(unused_variables)] // There is one table of tickets.
            fn run(&$self, on: Table, $conn: &mut $Conn) -> QueryResult<Returned> {
                $on_table!(on, $body)
            }
        }
    };
}

/// Implements [`Examples`] for each type of connection: the name of a file, and an expression.
macro_rules! examples {
    ($Operation:ident, |$conn:ident| { $($name:ident: $run:expr;)* }) => {
        examples!($Operation, |$conn: diesel::SqliteConnection| { $($name: $run;)* });
        #[cfg(feature = "postgres")]
        examples!($Operation, |$conn: diesel::PgConnection| { $($name: $run;)* });
        #[cfg(feature = "mysql")]
        examples!($Operation, |$conn: diesel::MysqlConnection| { $($name: $run;)* });
    };
    ($Operation:ident, |$conn:ident: $Conn:ty| { $($name:ident: $run:expr;)* }) => {
        impl $crate::operations::Examples<$Conn> for $Operation {
            fn examples() -> Vec<$crate::operations::Example<$Conn>> {
                vec![$($crate::operations::Example {
                    name: stringify!($name),
                    expression: stringify!($run),
                    run: |$conn| {
                        let _ = $run.unwrap();
                    },
                }),*]
            }
        }
    };
}
