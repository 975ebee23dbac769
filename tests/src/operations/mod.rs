//! What the library does: a file for each operation. It says
//!
//! - how the operation runs on a connection, with `run!`,
//! - what it does to a map, and what it returns: `apply`,
//! - random parameters for the test against a map: `random`,
//! - what the enumerator of `lab/soak` runs beside other operations: `scripts`,
//! - what the checker of `lab/soak` reads: `reads`,
//! - expressions whose SQL is a file of `tests/sql`, with `examples!`.
//!
//! A new operation is a file, and a line of `operations!`.

use std::ops::Bound;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Period};
use proptest::prelude::*;
use proptest::strategy::Union;

use crate::map::{Amounts, Days, Expected, Fault, Map, Place, Returned, number};
use crate::tables::{self, Entity, PAST, Table};
use crate::{map, values};

/// What an operation says about itself.
pub trait Describe: Sized {
    /// How often the operation comes up in the test against a map, next to others.
    const WEIGHT: u32 = 1;

    /// Makes up parameters.
    fn random() -> impl Strategy<Value = Self> + 'static;

    /// What the operation does to the map, and what it returns. After an error, the map is not used.
    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned>;

    /// What runs beside others in every order of their statements.
    fn scripts() -> Vec<Script> {
        Vec::new()
    }

    /// What the checker reads while others write. Each row of what is returned has the entity, and
    /// the day if it is not all of them.
    fn reads(_: &Asked) -> Vec<Self> {
        Vec::new()
    }

    /// Whether it begins transactions, and is refused in one.
    fn begins_transactions(&self) -> bool {
        false
    }

    /// Whether it reads, and then writes what it has read in other transactions or with another
    /// snapshot. Then the enumerator compares less strictly.
    fn is_in_parts(&self) -> bool {
        false
    }

    /// The period into which it merges days.
    fn merges_days_into(&self) -> Option<Period> {
        None
    }
}

/// How an operation runs on a connection.
pub trait Run<Conn> {
    fn run(&self, on: Table, conn: &mut Conn) -> QueryResult<Returned>;
}

/// What a connection of the enumerator runs. It works on article 1, and maybe on article 2.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    pub name: &'static str,
    /// A line of the help.
    pub does: &'static str,
    pub table: Table,
    /// Makes the operation. Each connection has a number of its own: 1, 10, 100. So a sum says
    /// which connections have counted.
    pub operation: fn(i64) -> Operation,
}

/// What a read of the checker is about.
#[derive(Debug, Clone)]
pub struct Asked {
    pub of: Entity,
    pub all: Vec<Entity>,
    pub on: NaiveDate,
    pub days: Days,
    pub limit: i64,
}

/// An expression that runs statements, which are a file of `tests/sql`.
pub struct Example<Conn> {
    /// The name of the file.
    pub name: &'static str,
    pub expression: &'static str,
    pub run: fn(&mut Conn),
}

/// The examples of an operation.
pub trait Examples<Conn> {
    fn examples() -> Vec<Example<Conn>>;
}

/// The articles that scripts work on.
const ONE: Entity = Entity::new(1, "a");
const TWO: Entity = Entity::new(2, "a");
/// Another label of article 1.
const ONE_B: Entity = Entity::new(1, "b");

/// An entity that a recount found to be wrong: the stored count, and the true one.
fn wrong<Key: std::fmt::Debug>(drift: &Drift<Key>) -> map::Row {
    let counts = vec![drift.stored, drift.actual];
    (Some(format!("{:?}", drift.entity)), drift.day, counts)
}

/// Runs the body on a table, with its model, its counters, and the rows that are recounted.
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

/// Runs the body on tickets, with their counter.
macro_rules! on_tickets {
    ($on:expr, $body:expr) => {{
        #[allow(unused_imports)]
        use crate::tables::tickets::*;
        $body
    }};
}

/// Runs the body on a table, or on tickets.
macro_rules! on_any_table {
    ($on:expr, $body:expr) => {
        match $on {
            Table::Tickets => on_tickets!($on, $body),
            on => on_table!(on, $body),
        }
    };
}

/// Implements [`Run`] for each type of connection, with the same body.
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

/// The enum of all operations, each with the name of its file.
macro_rules! operations {
    ($($Operation:ident in $file:ident,)*) => {
        $(
            mod $file;
            pub use self::$file::$Operation;

            impl From<$Operation> for Operation {
                fn from(operation: $Operation) -> Self {
                    Operation::$Operation(operation)
                }
            }
        )*

        #[derive(Debug, Clone)]
        pub enum Operation {
            $($Operation($Operation),)*
        }

        impl Operation {
            pub fn random() -> impl Strategy<Value = Operation> {
                Union::new_weighted(vec![$((
                    $Operation::WEIGHT,
                    $Operation::random().prop_map(Operation::from).boxed(),
                )),*])
            }

            pub fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned> {
                match self {
                    $(Operation::$Operation(operation) => operation.apply(map, place),)*
                }
            }

            pub fn scripts() -> Vec<Script> {
                [$($Operation::scripts()),*].concat()
            }

            pub fn reads(asked: &Asked) -> Vec<Operation> {
                let mut all = Vec::new();
                $(all.extend($Operation::reads(asked).into_iter().map(Operation::from));)*
                all
            }

            pub fn begins_transactions(&self) -> bool {
                match self {
                    $(Operation::$Operation(operation) => operation.begins_transactions(),)*
                }
            }

            pub fn is_in_parts(&self) -> bool {
                match self {
                    $(Operation::$Operation(operation) => operation.is_in_parts(),)*
                }
            }

            pub fn merges_days_into(&self) -> Option<Period> {
                match self {
                    $(Operation::$Operation(operation) => operation.merges_days_into(),)*
                }
            }

            pub fn examples<Conn>() -> Vec<Example<Conn>>
            where
                $($Operation: Examples<Conn>,)*
            {
                let mut all = Vec::new();
                $(all.extend($Operation::examples());)*
                all
            }
        }

        impl<Conn> Run<Conn> for Operation
        where
            $($Operation: Run<Conn>,)*
        {
            fn run(&self, on: Table, conn: &mut Conn) -> QueryResult<Returned> {
                match self {
                    $(Operation::$Operation(operation) => operation.run(on, conn),)*
                }
            }
        }
    };
}

operations! {
    ClaimSlot in claim_slot,
    Increment in increment,
    IncrementMany in increment_many,
    CountingTransaction in counting_transaction,
    CounterValue in counter_value,
    CounterValues in counter_values,
    CounterSeries in counter_series,
    Total in total,
    Ranking in ranking,
    SetCounter in set_counter,
    SetDays in set_days,
    Recount in recount,
    RecountPrefix in recount_prefix,
    RecountAll in recount_all,
    Materialize in materialize,
    Compact in compact,
    Fold in fold,
    DeleteCounters in delete_counters,
    DeletePrefix in delete_prefix,
    SetStock in set_stock,
    Take in take,
    PutBack in put_back,
}
