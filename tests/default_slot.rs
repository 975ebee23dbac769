//! The process's own choice of slots: in a process of its own, as it is made once.

use diesel::pg::Pg;
use diesel_counters::prelude::*;
use diesel_counters::{SetDefaultSlotError, Slot, set_default_slot};
use diesel_counters_tests::schema::article_counters::views;

#[test]
fn the_process_chooses_its_slots_once() {
    let no_partition = Slot::Partition { index: 2, of: 2 };
    assert_eq!(
        set_default_slot(no_partition),
        Err(SetDefaultSlotError::NoSuchPartition { index: 2, of: 2 })
    );

    let second_half = Slot::Partition { index: 1, of: 2 };
    assert_eq!(set_default_slot(second_half), Ok(()));
    assert_eq!(slots_of(increment(views)), [17, 16]);
    let first_half = Slot::Partition { index: 0, of: 2 };
    assert_eq!(slots_of(increment(views).slot(first_half)), [1, 16]);

    let again = set_default_slot(Slot::Random);
    assert_eq!(again, Err(SetDefaultSlotError::AlreadySet(second_half)));
    let message = again.unwrap_err().to_string();
    assert!(
        message.contains("Partition { index: 1, of: 2 }"),
        "{message}"
    );
    assert!(message.contains("at the start of main"), "{message}");
}

/// The first slot and their number, of the bind values: id, day, slot, slots, slots, amount.
fn slots_of(increment: diesel_counters::dsl::Increment<views>) -> [i16; 2] {
    let statement = increment.of(1_i64);
    let shown = diesel::debug_query::<Pg, _>(&statement).to_string();
    let (_, binds) = shown.split_once("binds: [").unwrap();
    let binds: Vec<_> = binds.split(", ").collect();
    [binds[2], binds[3]].map(|bind| bind.parse().unwrap())
}
