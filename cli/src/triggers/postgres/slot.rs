//! The function that returns the slot of a connection.

use diesel_counters::Dialect;

use crate::triggers::counting::Counting;
use crate::triggers::trigger::{FUNCTION, Trigger};

/// The name of the function.
pub const SLOT: &str = "diesel_counters_slot";

pub fn function() -> Trigger {
    let body = Dialect::slot_function();
    Trigger {
        create: format!(
            "CREATE FUNCTION {SLOT}(slots INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $slot${body}$slot$;\n"
        ),
        drop: format!(
            "DO $$ BEGIN\n    \
             -- The triggers of other tables call it, too.\n    \
             IF NOT EXISTS (SELECT FROM pg_proc WHERE prosrc LIKE '%{SLOT}(%') THEN\n        \
             DROP FUNCTION IF EXISTS {SLOT}(INTEGER);\n    \
             END IF;\nEND $$;\n"
        ),
        table: [String::new(), SLOT.to_owned()],
        name: SLOT.to_owned(),
        event: FUNCTION.to_owned(),
        function: None,
        body,
    }
}

pub fn has_slots(counting: &Counting) -> bool {
    let mut targets = counting.targets.iter();
    targets.any(|target| target.slots.is_some())
}
