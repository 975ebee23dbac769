//! What the library does: a file for each operation, and the list of all of them. The random test
//! against a map, the files of SQL, and the checker and the enumerator of `lab/soak` read it.
//!
//! A new operation is a file here, and a line of `operations!`. Take `ranking.rs` for an example of a
//! read, and `set_counter.rs` for one of a write. The file has
//!
//! - the operation with its parameters, and what it does to a map: [`Describe`],
//! - how it runs on a connection, with `run!`,
//! - expressions whose SQL is a file of `tests/sql`, with `examples!`.

#[macro_use]
mod run;
mod describe;

use std::ops::Bound;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Period};
use proptest::prelude::*;
use proptest::strategy::Union;

pub use self::describe::{Asked, Describe, Example, Examples, Script};
pub use self::run::Run;
use crate::map::{Amounts, Days, Expected, Fault, Map, Place, Returned, number};
use crate::tables::{self, Entity, PAST, Table};
use crate::{map, values};

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
