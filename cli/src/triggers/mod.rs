//! Triggers that count the rows of a table: a definition and the tables in, triggers out. One file
//! a database.

mod changed;
mod correction;
mod counting;
mod definition;
mod difference;
mod entities;
mod existing;
mod expression;
mod file;
mod free;
mod functions;
mod kept_counts;
mod keys;
mod migration;
mod mysql;
mod order;
mod own;
mod plan;
mod postgres;
mod recount;
mod references;
mod sql;
mod sqlite;
mod statement;
mod stored;
mod target;
mod targets;
mod trigger;
mod values;

pub use correction::Compared;
pub use counting::Counting;
pub use definition::{Count, Definition, Existing, Period};
pub use difference::{Difference, Last, as_stored};
pub use expression::Expression;
pub use file::{File, InFile, written};
pub use migration::migration;
pub use order::order;
pub use plan::{Gone, Plan};
pub use recount::{Recount, Wrong};
pub use sql::Trial;
pub use stored::{Stored, definitions, replace};
pub use target::Target;
pub use trigger::{LiveTrigger, Trigger, TriggerTable, live_triggers};
