//! Triggers that count the rows of a table: a definition and the tables in, triggers out. One file
//! a database.

mod cascades;
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
mod plan;
mod postgres;
mod recount;
mod references;
mod snapshot;
mod sql;
mod sqlite;
mod starts;
mod statement;
mod target;
mod targets;
mod trigger;
mod values;

pub use cascades::{Cascade, cascades};
pub use correction::Which;
pub use counting::Counting;
pub use definition::{Count, Definition, Existing, Period};
pub use difference::{Difference, Repair};
pub use expression::Expression;
pub use file::{File, NAME, migrations_directory};
pub use migration::migration;
pub use order::order;
pub use plan::{Gone, Plan};
pub use recount::{Left, Recount, Wrong};
pub use snapshot::{Migrations, Snapshot, version};
pub use sql::Trial;
pub use trigger::{LiveTrigger, Trigger, TriggerTable, live_triggers};
