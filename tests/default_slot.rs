//! The process's own choice of slots, which is made once: no other test counts in this process.

use diesel::pg::Pg;
use diesel::query_builder::QueryFragment;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::Increment;
use diesel_counters::prelude::*;
use diesel_counters::{
    CounterTable, Counters, SetDefaultSlotError, Slot, set_default_slot, with_default_slot,
};
use diesel_counters_tests::models::{busy_counters, timeless_counters};
use diesel_counters_tests::schema::article_counters::views;

#[test]
fn the_process_chooses_its_slots_once() {
    let found = set_default_slot(Slot::Partition { index: 2, of: 2 });
    let no_partition = SetDefaultSlotError::NoSuchPartition { index: 2, of: 2 };
    assert_eq!(found, Err(no_partition));

    let second = Slot::Partition { index: 1, of: 2 };
    assert_eq!(set_default_slot(second), Ok(()));
    assert_eq!(slots_of(increment(views)), [2, 16, 2]);
    let first = Slot::Partition { index: 0, of: 2 };
    assert_eq!(slots_of(increment(views).slot(first)), [1, 16, 2]);
    // A thread has its default until the function returns.
    let of = |index| Slot::Partition { index, of: 4 };
    with_default_slot(of(3), || {
        with_default_slot(of(2), || {
            assert_eq!(slots_of(increment(views)), [3, 8, 4]);
        });
        assert_eq!(slots_of(increment(views)), [4, 8, 4]);
    });
    assert_eq!(slots_of(increment(views)), [2, 16, 2]);

    let again = set_default_slot(Slot::Random);
    assert_eq!(again, Err(SetDefaultSlotError::AlreadySet(second)));
    let message = again.unwrap_err().to_string();
    for says in ["Partition { index: 1, of: 2 }", "at the start of main"] {
        assert!(message.contains(says), "{message}");
    }
}

/// The slots of a partition.
fn all_of<C>(increment: Increment<C>, index: u16, of: u16) -> Vec<i16>
where
    Increment<C, i64>: QueryFragment<Pg>,
    C: Counters<Table: CounterTable<KeyType = (BigInt,)>>,
{
    let [first, count, step] = slots_of(increment.slot(Slot::Partition { index, of }));
    (0..count).map(|n| first + n * step).collect()
}

#[test]
fn partitions_share_all_slots_and_no_slot_twice() {
    for of in [1, 3, 32] {
        let all = (0..of).flat_map(|index| all_of(increment(views), index, of));
        assert_eq!(sorted(all), (1..=32).collect::<Vec<_>>());
    }
    for (slots, of) in [(2, 2), (32_767, 1_000)] {
        let of_table = |index| match slots {
            2 => all_of(increment(timeless_counters::views), index, of),
            _ => all_of(increment(busy_counters::views), index, of),
        };
        let all = sorted((0..of).flat_map(of_table));
        assert!(all.into_iter().eq(1..=slots));
    }
}

#[test]
fn with_more_partitions_than_slots_each_has_one_of_its_own() {
    let used = (0..40).flat_map(|index| all_of(increment(views), index, 40));
    assert_eq!(used.collect::<Vec<_>>(), (1..=40).collect::<Vec<_>>());
    assert_eq!(all_of(increment(views), 32_766, 32_767), [32_767]);
}

fn sorted(slots: impl Iterator<Item = i16>) -> Vec<i16> {
    let mut slots: Vec<_> = slots.collect();
    slots.sort_unstable();
    slots
}

/// The first slot, the number of slots, and the step from one to the next. The bind values have the slot
/// before the first one, and the name of a setting with the number of slots and the partition.
fn slots_of<C>(increment: Increment<C>) -> [i16; 3]
where
    Increment<C, i64>: QueryFragment<Pg>,
    C: Counters<Table: CounterTable<KeyType = (BigInt,)>>,
{
    let statement = increment.of(1_i64);
    let shown = diesel::debug_query::<Pg, _>(&statement).to_string();
    let (_, binds) = shown.split_once("binds: [").unwrap();
    let before: i16 = binds.split(", ").nth(2).unwrap().parse().unwrap();
    let (_, setting) = binds.split_once("diesel_counters.slot_").unwrap();
    let (setting, _) = setting.split_once('"').unwrap();
    let numbers = setting.split('_').map(|number| number.parse().unwrap());
    let numbers: Vec<i16> = numbers.collect();
    [before + 1, numbers[0], numbers[2]]
}
