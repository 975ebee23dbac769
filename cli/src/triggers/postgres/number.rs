//! The function that claims a number for a connection, by which it has slots of its own.

use diesel_counters::Dialect;

use crate::triggers::counting::Counting;
use crate::triggers::trigger::{FUNCTION, Trigger};

/// The function that claims a number for a connection.
pub const NUMBER: &str = "diesel_counters_number()";

pub fn number() -> Trigger {
    let body = format!("\n    SELECT {};\n", Dialect::claim());
    let name = "diesel_counters_number";
    Trigger {
        create: format!(
            "CREATE FUNCTION {NUMBER} RETURNS INTEGER LANGUAGE sql AS $number${body}$number$;\n"
        ),
        drop: format!(
            "DO $$ BEGIN\n    \
             -- The triggers of other tables call it, too.\n    \
             IF NOT EXISTS (SELECT FROM pg_proc WHERE prosrc LIKE '%{NUMBER}%') THEN\n        \
             DROP FUNCTION IF EXISTS {NUMBER};\n    \
             END IF;\nEND $$;\n"
        ),
        table: [String::new(), name.to_owned()],
        name: name.to_owned(),
        event: FUNCTION.to_owned(),
        function: None,
        body,
    }
}

pub fn has_slots(counting: &Counting) -> bool {
    let mut targets = counting.targets.iter();
    targets.any(|target| target.slots.is_some())
}
