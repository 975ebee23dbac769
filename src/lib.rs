//! Slotted, transactional counters for Diesel models.

mod backend;
mod increment;
mod increment_many;
mod model;
mod period;
mod slot;
mod table;
mod value;

#[doc(hidden)]
pub use chrono;
pub use diesel_counters_derive::HasCounters;

pub use backend::{CounterBackend, Dialect};
pub use increment::{By, Changes, CounterColumn, Increment, KeyType, NoEntity, increment};
pub use increment_many::{IncrementMany, increment_many};
pub use model::{CountersOf, HasCounters};
pub use period::Period;
pub use slot::{DEFAULT_SLOTS, SetDefaultSlotError, Slot, set_default_slot};
pub use table::{CounterTable, Counters};
pub use value::{AllDays, CounterValue, OnDay, counter_value};

/// What a program that counts needs in scope.
pub mod prelude {
    pub use crate::{CounterColumn, HasCounters, counter_value, increment, increment_many};
}
