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
    for _ in 0..100 {
        assert!((17..=32).contains(&slot_of(increment(views))));
    }
    let first_half = Slot::Partition { index: 0, of: 2 };
    assert!((1..=16).contains(&slot_of(increment(views).slot(first_half))));

    let again = set_default_slot(Slot::Random);
    assert_eq!(again, Err(SetDefaultSlotError::AlreadySet(second_half)));
    let message = again.unwrap_err().to_string();
    assert!(
        message.contains("Partition { index: 1, of: 2 }"),
        "{message}"
    );
    assert!(message.contains("at the start of main"), "{message}");
}

/// The slot in the statement's bind values: id, day, slot, amount.
fn slot_of(increment: diesel_counters::Increment<views>) -> i16 {
    let statement = increment.of(1_i64);
    let shown = diesel::debug_query::<Pg, _>(&statement).to_string();
    let (_, binds) = shown.split_once("binds: [").unwrap();
    binds.split(", ").nth(2).unwrap().parse().unwrap()
}
