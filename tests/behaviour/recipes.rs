//! The recipes of the docs that are programs, on every database.

mod averages;
mod hours;
mod ignored_error;
mod pool_size;
mod quota_per_day;
mod renamed_key;
pub mod total_as_a_field;
mod weeks;
mod without_stopping;
