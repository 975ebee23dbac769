//! The process's own choice of slots, which is made once: no other test counts in this process.

use diesel::pg::Pg;
use diesel_counters::prelude::*;
use diesel_counters::{SetDefaultSlotError, Slot, set_default_slot};
use diesel_counters_tests::schema::article_counters::views;

#[test]
fn the_process_chooses_its_slots_once() {
    let no_partition = Slot::Partition { index: 2, of: 2 };
    let found = set_default_slot(no_partition);
    assert_eq!(
        found,
        Err(SetDefaultSlotError::NoSuchPartition { index: 2, of: 2 })
    );

    let second = Slot::Partition { index: 1, of: 2 };
    assert_eq!(set_default_slot(second), Ok(()));
    assert_eq!(slots_of(increment(views)), [2, 16, 2]);
    let first = Slot::Partition { index: 0, of: 2 };
    assert_eq!(slots_of(increment(views).slot(first)), [1, 16, 2]);

    let again = set_default_slot(Slot::Random);
    assert_eq!(again, Err(SetDefaultSlotError::AlreadySet(second)));
    let message = again.unwrap_err().to_string();
    assert!(
        message.contains("Partition { index: 1, of: 2 }"),
        "{message}"
    );
    assert!(message.contains("at the start of main"), "{message}");
}

/// The first slot, the number of slots, and the step from one to the next, of the bind values: id, day,
/// first, step, index, step, number, number, amount.
fn slots_of(increment: diesel_counters::dsl::Increment<views>) -> [i16; 3] {
    let statement = increment.of(1_i64);
    let shown = diesel::debug_query::<Pg, _>(&statement).to_string();
    let (_, binds) = shown.split_once("binds: [").unwrap();
    let binds: Vec<_> = binds.split(", ").collect();
    [binds[2], binds[6], binds[3]].map(|bind| bind.parse().unwrap())
}
